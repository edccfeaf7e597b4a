import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import type * as labCommands from "../../../lab/cli/lab.ts";
import type * as runningLabs from "../../../lab/cli/running.ts";
import type * as failoverDrill from "../../../lab/failover-drill/run.ts";
import { CliError, EXIT } from "./exit.ts";

/** Computed, so that the bundler does not include the lab. */
const LAB = join(import.meta.dirname, "../../../lab");

interface LabModules {
  readonly "cli/lab.ts": typeof labCommands;
  readonly "cli/running.ts": typeof runningLabs;
  readonly "failover-drill/run.ts": typeof failoverDrill;
}

/** The only way from src/ to lab/. */
export async function loadFromLab<Path extends keyof LabModules>(path: Path): Promise<LabModules[Path]> {
  if (!hasLab()) throw new CliError("The lab is not part of this build: run ./plumbline in a checkout of Plumbline", EXIT.unknown);
  return (await import(join(LAB, path))) as LabModules[Path];
}

export function hasLab(): boolean {
  return existsSync(join(LAB, "cli"));
}

/** Without a lab the command says where to find one. */
export async function labCommand(): Promise<{ configure(command: Command): void }> {
  return hasLab() ? loadFromLab("cli/lab.ts") : { configure: withoutLab };
}

function withoutLab(command: Command): void {
  command
    .argument("[args...]")
    .allowUnknownOption()
    .action(async () => void (await loadFromLab("cli/lab.ts")));
}
