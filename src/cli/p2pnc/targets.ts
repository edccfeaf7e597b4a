import { parseTarget, type Target } from "../../connectivity/probe/target.ts";
import { CliError, EXIT } from "../shared/exit.ts";

/** What is tried without a cluster: all of the words are HOST:PORT. undefined where none of them is. */
export function targetsByHand(args: readonly string[]): readonly Target[] | undefined {
  const plain = args.filter((arg) => !arg.includes("="));
  if (plain.length === 0) return undefined;
  const paired = args.find((arg) => arg.includes("="));
  if (paired !== undefined) {
    throw new CliError(`${plain[0]} is to be printed and ${paired} to be written into a check: give one kind of target`, EXIT.misuse);
  }
  return plain.map(targetOf);
}

/** By the name of the check that the result goes to. */
export function targetsOfChecks(args: readonly string[]): ReadonlyMap<string, Target> {
  const targets = new Map<string, Target>();
  for (const arg of args) {
    const at = arg.lastIndexOf("=");
    const name = arg.slice(at + 1);
    if (!/^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/.test(name)) {
      throw new CliError(
        `${arg}: ${name === "" ? "the name of the check after = is missing" : `${name} is not a name of a check`}`,
        EXIT.misuse,
      );
    }
    if (targets.has(name)) throw new CliError(`${arg}: check ${name} is given twice; a check has one target`, EXIT.misuse);
    targets.set(name, targetOf(arg.slice(0, at)));
  }
  return targets;
}

function targetOf(text: string): Target {
  const target = parseTarget(text);
  if ("problem" in target) throw new CliError(target.problem, EXIT.misuse);
  return target;
}
