import type { Command } from "commander";
import { EXIT, exitCodeFor } from "./exit.ts";

/** Runs one command line of a program and returns its exit code. Never throws. */
export async function runCommand(program: () => Promise<Command>, args: readonly string[], name: string): Promise<number> {
  process.stdout.on("error", endWithReader);
  try {
    const command = await program();
    await command.parseAsync([...args], { from: "user" });
    return typeof process.exitCode === "number" ? process.exitCode : EXIT.fine;
  } catch (error) {
    return exitCodeFor(error, (line) => process.stderr.write(`${line.replace(/^plumbline:/, `${name}:`)}\n`));
  }
}

/** Misuse prints the usage and throws instead of ending the process. */
export function strict(program: Command): Command {
  onEvery(program, (command) => {
    const usage = command.createHelp().commandUsage(command);
    command
      .exitOverride()
      .helpCommand(false)
      .showSuggestionAfterError()
      .showHelpAfterError(`Usage: ${usage}\nRun with --help for all options.`);
  });
  return program;
}

function onEvery(command: Command, change: (command: Command) => void): void {
  change(command);
  for (const child of command.commands) onEvery(child, change);
}

let readerLeft = false;

/** `plumbline get ... | head -1`: the reader closed the pipe. Long-running commands get SIGTERM. */
function endWithReader(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") throw error;
  if (readerLeft) return;
  readerLeft = true;
  if (!process.emit("SIGTERM", "SIGTERM")) process.exit(EXIT.fine);
}
