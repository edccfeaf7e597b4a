import { join } from "node:path";
import { goCommands } from "../go-commands.ts";
import type { Progress } from "../progress.ts";

/** Tells which address Kubernetes' own code, flannel and Calico take for the node's. */
export async function nodeAddressBinary(progress: Progress): Promise<string> {
  return join(await goCommands({ title: "node-address", module: import.meta.dirname, packages: ["."] }, progress), "node-address");
}
