import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installCrds } from "../../lab/kube/install-crds.ts";
import { Namespace } from "../../src/api/core/namespace.ts";
import { CUSTOM_KINDS } from "../../src/api/crds/kinds.ts";
import { startEmbedded } from "../../src/embedded/embedded.ts";
import { fixedAccess } from "../../src/kube/testing/fixed-access.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { createLog } from "../../src/kube/log.ts";
import { apiServer, type SuiteApiServer } from "./api-server.ts";
import { plumbline, type CommandResult } from "./command-line.ts";

/** An API server with our kinds, and the command line speaking to it. */
export interface CommandLineServer {
  readonly client: KubeClient;
  /** What makes the command line speak to it. */
  readonly env: Record<string, string>;
  /** A directory that is gone with the server; the embedded API serves it. */
  readonly directory: string;
  plumbline(...args: string[]): Promise<CommandResult>;
  stop(): Promise<void>;
}

/** For suites that expect the same of both. */
export const SERVERS: readonly (readonly [string, (suite: string) => Promise<CommandLineServer>])[] = [
  ["a real API server", realServer],
  ["the embedded API", embeddedServer],
];

export async function realServer(suite: string): Promise<CommandLineServer & { readonly api: SuiteApiServer }> {
  const [api, directory] = await Promise.all([apiServer(suite), temporary()]);
  const client = new KubeClient(api.access);
  // From here on: this file is loaded once for all suites of a worker, and the first of them may be long ago.
  const signal = AbortSignal.timeout(60_000);
  await installCrds(client, CUSTOM_KINDS, signal);
  for (const name of ["openperouter-system", "metallb-system", "plumbline-system"]) {
    await client.resource(Namespace).create({ metadata: { name } }, { signal });
  }
  const env = { KUBECONFIG: await api.server.kubeconfig("admin"), PLUMBLINE_DIR: "" };
  return { ...serverOf(client, env, directory, () => api.stop()), api };
}

export async function embeddedServer(): Promise<CommandLineServer> {
  const directory = await temporary();
  const embedded = await startEmbedded({ directory, log: createLog({ level: "silent" }) });
  const env = { PLUMBLINE_DIR: directory, KUBECONFIG: "" };
  return serverOf(new KubeClient(fixedAccess(`unix:${embedded.socket}`)), env, directory, () => embedded.stop());
}

function serverOf(client: KubeClient, env: Record<string, string>, directory: string, stop: () => Promise<void>): CommandLineServer {
  return {
    client,
    env,
    directory,
    plumbline: (...args) => plumbline(args, env),
    async stop() {
      client.close();
      await stop();
      await rm(directory, { recursive: true });
    },
  };
}

function temporary(): Promise<string> {
  return mkdtemp(join(tmpdir(), "plumbline-cli-"));
}
