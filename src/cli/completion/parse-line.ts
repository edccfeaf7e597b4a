import type { Argument, Command, Option } from "commander";

export type CompletionContext =
  | { is: "one of"; candidates: readonly Completion[] }
  | { is: "namespace" }
  | { is: "kind" }
  | { is: "name"; kind: string; taken: readonly string[] }
  | { is: "other" };

export interface Completion {
  readonly text: string;
  readonly about?: string;
}

export interface Line {
  readonly context: CompletionContext;
  /** Options that are already on the line, by long name: `namespace`, `dir`. */
  readonly options: Readonly<Record<string, string>>;
}

const SUGGESTED = new WeakMap<Argument, readonly Completion[]>();

export function suggest(argument: Argument, candidates: readonly Completion[]): Argument {
  SUGGESTED.set(argument, candidates);
  return argument;
}

export function parseCommandLine(program: Command, args: readonly string[]): Line {
  const current = args.at(-1) ?? "";
  const options: Record<string, string> = {};
  const positional: string[] = [];
  let command = program;
  let open: Option | undefined;
  for (const arg of args.slice(0, -1)) {
    if (open) {
      options[open.attributeName()] = arg;
      if (!open.variadic) open = undefined;
    } else if (arg.startsWith("-")) {
      const [flag, value] = arg.split("=", 2);
      const option = command.options.find(({ short, long }) => short === flag || long === flag);
      if (option && value !== undefined) options[option.attributeName()] = value;
      else if (option?.isBoolean()) options[option.attributeName()] = "true";
      else open = option;
    } else {
      const child = positional.length === 0 ? command.commands.find((one) => one.name() === arg) : undefined;
      if (child) command = child;
      else positional.push(arg);
    }
  }
  return { context: contextOf(command, open, positional, current), options };
}

function contextOf(command: Command, open: Option | undefined, positional: readonly string[], current: string): CompletionContext {
  if (open?.variadic !== true || !current.startsWith("-")) {
    if (open?.argChoices) return { is: "one of", candidates: open.argChoices.map((text) => ({ text })) };
    if (open) return { is: open.long === "--namespace" ? "namespace" : "other" };
  }
  if (current.startsWith("-")) return { is: "one of", candidates: optionsOf(command) };
  if (command.commands.length > 0) return { is: "one of", candidates: commandsOf(command) };

  const declared = command.registeredArguments;
  const argument = declared[Math.min(positional.length, declared.length - 1)];
  if (!argument || (positional.length >= declared.length && !argument.variadic)) return { is: "other" };
  if (argument.argChoices) return { is: "one of", candidates: argument.argChoices.map((text) => ({ text })) };
  if (argument.name() === "kind" || argument.name() === "kinds") return { is: "kind" };
  if (argument.name() === "policy") return { is: "name", kind: "failoverpolicies", taken: [] };
  const suggested = SUGGESTED.get(argument);
  if (suggested) return { is: "one of", candidates: suggested };
  const [kind = "", ...taken] = positional;
  return argument.name() === "names" ? { is: "name", kind, taken } : { is: "other" };
}

function commandsOf(command: Command): Completion[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .map((child) => ({ text: child.name(), about: child.description() }));
}

function optionsOf(command: Command): Completion[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .map(({ long, short, description }) => ({ text: long ?? short ?? "", about: description }));
}
