import { join } from "node:path";
import { goCommands } from "../../go-commands.ts";
import type { Progress } from "../../progress.ts";

const COMMANDS = ["kustomize-controller", "helm-controller"] as const;

export type FluxBinaries = Readonly<Record<(typeof COMMANDS)[number], string>>;

/** Flux's controllers without source-controller, which needs a newer Go: `Flux` serves the artifacts in its place. */
export async function fluxBinaries(progress: Progress): Promise<FluxBinaries> {
  const packages = COMMANDS.map((command) => `github.com/fluxcd/${command}`);
  const directory = await goCommands({ title: "Flux", module: import.meta.dirname, packages }, progress);
  return { "kustomize-controller": join(directory, "kustomize-controller"), "helm-controller": join(directory, "helm-controller") };
}
