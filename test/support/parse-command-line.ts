import type { Command } from "commander";
import { program } from "../../src/cli/program.ts";

/** Parses a command line as `plumbline` would, and does nothing. Throws what it would say of one that it does not understand. */
export async function understood(args: readonly string[]): Promise<boolean> {
  const whole = await program((name) => name === args[0]);
  let ran = false;
  const answer = (command: Command): void => {
    command.configureOutput({ writeErr: () => undefined });
    if (command.commands.length === 0) command.action(() => void (ran = true));
    command.commands.forEach(answer);
  };
  whole.commands.filter((command) => command.name() === args[0]).forEach(answer);
  await whole.parseAsync([...args], { from: "user" });
  return ran;
}
