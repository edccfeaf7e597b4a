import type { Command, Option } from "commander";
import { DEFAULT_TOPOLOGY } from "../../../lab/net/topology.ts";
import { FAULTS } from "../lab/faults.ts";
import { SITE_FAULTS } from "../../../lab/faults/site-faults.ts";

/** What a shell's user is about to type. */
export type Place =
  | { is: "one of"; candidates: readonly Candidate[] }
  | { is: "namespace" }
  | { is: "kind" }
  | { is: "name"; kind: string; taken: readonly string[] }
  /** A file, or something that only the user knows. */
  | { is: "other" };

export interface Candidate {
  readonly text: string;
  readonly about?: string;
}

export interface Line {
  readonly place: Place;
  /** The values of options that are there already, by long name: `namespace`, `dir`. */
  readonly options: Readonly<Record<string, string>>;
}

/** Understands a line up to its last word, which is the one to be completed. */
export function readLine(program: Command, words: readonly string[]): Line {
  const current = words.at(-1) ?? "";
  const options: Record<string, string> = {};
  const positional: string[] = [];
  let command = program;
  let open: Option | undefined;
  for (const word of words.slice(0, -1)) {
    if (open) {
      options[open.attributeName()] = word;
      if (!open.variadic) open = undefined;
    } else if (word.startsWith("-")) {
      const [flag, value] = word.split("=", 2);
      const option = command.options.find(({ short, long }) => short === flag || long === flag);
      if (option && value !== undefined) options[option.attributeName()] = value;
      else if (option?.isBoolean()) options[option.attributeName()] = "true";
      else open = option;
    } else {
      const child = positional.length === 0 ? command.commands.find((one) => one.name() === word) : undefined;
      if (child) command = child;
      else positional.push(word);
    }
  }
  return { place: placeOf(command, open, positional, current), options };
}

function placeOf(command: Command, open: Option | undefined, positional: readonly string[], current: string): Place {
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
  if (argument.name() === "link") return { is: "one of", candidates: DEFAULT_TOPOLOGY.links.map(({ name: text }) => ({ text })) };
  if (argument.name() === "fault") return { is: "one of", candidates: faults() };
  const [kind = "", ...taken] = positional;
  return argument.name() === "names" ? { is: "name", kind, taken } : { is: "other" };
}

function faults(): Candidate[] {
  return Object.entries({ ...FAULTS, ...SITE_FAULTS }).map(([text, { about }]) => ({ text, about }));
}

function commandsOf(command: Command): Candidate[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .map((child) => ({ text: child.name(), about: child.description() }));
}

function optionsOf(command: Command): Candidate[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .map(({ long, short, description }) => ({ text: long ?? short ?? "", about: description }));
}
