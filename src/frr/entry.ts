import type { ConfigLine } from "./fragment.ts";
import { isBare, isContext, normalizeLine, type Path } from "./grammar.ts";

export interface ConfigEntry {
  readonly daemon: string;
  readonly path: Path;
  readonly line: string;
  readonly context: boolean;
  /** The contexts and the line; equal in all daemons. */
  readonly text: string;
  /** Unique per daemon. */
  readonly key: string;
  /** Equal for all lines of one top-level context. */
  readonly top: string;
}

/** Which daemons take a top-level line and the lines inside it. */
export type DaemonsOf = (top: string) => readonly string[];

/** The lines one by one, outer before inner. Contexts that exist only through the lines in them are left out. */
export function entriesOf(lines: readonly ConfigLine[], daemonsOf: DaemonsOf): ConfigEntry[] {
  const entries: ConfigEntry[] = [];
  const walk = (lines: readonly ConfigLine[], path: Path, around: string, daemon: string, top?: string) => {
    for (const { line: written, inside } of lines) {
      assertOneLine(written);
      const line = normalizeLine(written);
      const text = around ? `${around}\n${line}` : line;
      const context = inside !== undefined || isContext(path, line);
      if (!isBare(path, line))
        entries.push({ daemon, path, line, context, text, key: `${daemon}\n${text}`, top: top ?? `${daemon}\n${line}` });
      if (inside) walk(inside, [...path, line], text, daemon, top ?? `${daemon}\n${line}`);
    }
  };
  for (const top of lines) for (const daemon of daemonsOf(top.line)) walk([top], [], "", daemon);
  return entries;
}

/** Rejects text that FRR would read as more than one line. */
function assertOneLine(line: string): void {
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(line))
    throw new TypeError(`a line for FRR has control characters: ${JSON.stringify(line)}`);
  if (line !== line.trim() || line === "") throw new TypeError(`a line for FRR is empty or has blanks around it: ${JSON.stringify(line)}`);
  if (/^([!#]|(exit(-\S+)?|end|quit)$)/.test(line))
    throw new TypeError(`a line for FRR is a comment or leaves its context: ${JSON.stringify(line)}`);
}

/** Contexts and line, with passwords masked. */
export function describe({ path, line }: Pick<ConfigEntry, "path" | "line">): string {
  return masked([...path, line].join(" / "));
}

/** The commands with a password, but not a sentence about one, such as FRR's own errors. */
const PASSWORD = /((?:\bneighbor \S+ |\b(?:enable|isis) |\b(?:area|domain)-|(?:^|[/:(] ?))password ).*/gm;

/** FRR repeats what it rejects, passwords included. */
export function masked(text: string): string {
  return text.replaceAll(PASSWORD, "$1***");
}
