import { existsSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { controllerCommand } from "./controller.ts";
import { crdsCommand } from "./crds.ts";
import { developCommands } from "./develop.ts";
import { EXIT, exitCodeFor } from "./exit.ts";
import { labCommand } from "./lab.ts";
import { VERSION, versionCommand } from "./version.ts";

const CHECKOUT = join(import.meta.dirname, "../..");

/** Runs one command line and returns its exit code. Never throws. */
export async function runProgram(args: readonly string[]): Promise<number> {
  try {
    await program().parseAsync([...args], { from: "user" });
    return typeof process.exitCode === "number" ? process.exitCode : EXIT.fine;
  } catch (error) {
    return exitCodeFor(error, (line) => process.stderr.write(`${line}\n`));
  }
}

function program(): Command {
  const plumbline = new Command("plumbline")
    .description("Runs the network edge of a bare-metal Kubernetes cluster and tells the truth about it.")
    .version(VERSION, "-V, --version", "print the version")
    .helpCommand(false)
    .addHelpText("after", "\nExit codes: 0 fine, 1 the answer is no, 2 misuse, 3 could not find out.\n");
  plumbline.addCommand(controllerCommand());
  plumbline.addCommand(labCommand());
  plumbline.addCommand(crdsCommand());
  plumbline.addCommand(versionCommand());
  if (existsSync(join(CHECKOUT, "tools"))) for (const command of developCommands(CHECKOUT)) plumbline.addCommand(command, { hidden: true });
  onEvery(plumbline, (command) => {
    const usage = command.createHelp().commandUsage(command);
    command.exitOverride().showSuggestionAfterError().showHelpAfterError(`Usage: ${usage}\n--help shows what is possible.`);
  });
  return plumbline;
}

function onEvery(command: Command, change: (command: Command) => void): void {
  change(command);
  for (const child of command.commands) onEvery(child, change);
}
