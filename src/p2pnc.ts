import { Command } from "commander";
import { configure } from "./cli/commands/p2pnc.ts";
import { runCommand, strict } from "./cli/shared/run-command.ts";
import { VERSION } from "./cli/shared/version.ts";

// Before the first thread is needed: a lookup holds one for as long as a name server is silent, and may have only half of them. One pod has few names to look up.
process.env["UV_THREADPOOL_SIZE"] ??= "8";

/** `p2pnc` as a program of its own, for containers in which nothing else of Plumbline runs. */
const program = new Command("p2pnc")
  .description("Point-to-point network checks: run the checks of a pod, as a sidecar or by hand, and prune old ones.")
  .version(VERSION, "-V, --version", "print the version");
configure(program);

// Not awaited here: in the bundle other chunks import from this one, and would wait for it while it waits for them.
void runCommand(() => Promise.resolve(strict(program)), process.argv.slice(2), "p2pnc").then((code) => (process.exitCode = code));
