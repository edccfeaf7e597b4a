import { join } from "node:path";
import { goCommands } from "../go-commands.ts";
import type { Progress } from "../progress.ts";

export async function helmBinary(progress: Progress): Promise<string> {
  const packages = ["helm.sh/helm/v3/cmd/helm"];
  return join(await goCommands({ title: "Helm", module: import.meta.dirname, packages }, progress), "helm");
}
