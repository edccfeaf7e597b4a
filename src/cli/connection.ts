import type { Command } from "commander";
import { findAccess } from "../kube/client/access.ts";
import { KubeClient } from "../kube/client/client.ts";
import { VERSION } from "./version.ts";

export interface ConnectionOptions {
  kubeconfig?: string;
  context?: string;
}

/** The options of every command that speaks to an API server. */
export function withConnection(command: Command): Command {
  return command
    .option("--kubeconfig <file>", "whom to speak to; otherwise KUBECONFIG, the pod's service account, ~/.kube/config")
    .option("--context <name>", "a context of the kubeconfig other than its current one");
}

export async function connect(options: ConnectionOptions): Promise<KubeClient> {
  return new KubeClient(await findAccess(options), { userAgent: `plumbline/${VERSION}` });
}
