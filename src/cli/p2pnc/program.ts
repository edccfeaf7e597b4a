import { Command } from "commander";
import { configure } from "../commands/p2pnc.ts";
import { runCommand, strict } from "../shared/run-command.ts";
import { VERSION } from "../commands/version.ts";

/** `p2pnc` as a program of its own, for containers in which nothing else of Plumbline runs. */
export function runP2pnc(args: readonly string[]): Promise<number> {
  const program = new Command("p2pnc")
    .description("Point-to-point network checks: run the checks of a pod, as a sidecar or by hand, and prune old ones.")
    .version(VERSION, "-V, --version", "print the version");
  configure(program);
  return runCommand(() => Promise.resolve(strict(program)), args, "p2pnc");
}
