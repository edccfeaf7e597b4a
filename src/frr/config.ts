import type { ConfigLine, Fragment } from "./fragment.ts";
import { closingOf, fileRank, isContext } from "./grammar.ts";

interface Growing {
  readonly line: string;
  inside?: Growing[];
}

interface Row {
  readonly indent: number;
  readonly line: string;
  /** `exit` and its kin, or a lone `!`. */
  readonly closes: "exit" | "bang" | undefined;
}

interface Open {
  readonly indent: number;
  readonly context: Growing;
  /** The lines inside are not indented. */
  readonly flat: boolean;
}

/**
 * Parses `show running-config` of any daemon, and hand-written text. A context is a line with deeper lines under it, or with its own
 * `exit`; known contexts also work without indents.
 */
export function parse(text: string): ConfigLine[] {
  const top: Growing[] = [];
  const open: Open[] = [];
  const rows = significant(text);

  rows.forEach((row, index) => {
    if (row.line === "end") open.length = 0;
    else if (row.closes) close(open, row);
    else {
      while (leaves(row, open)) open.pop();
      const added: Growing = { line: row.line };
      const parent = open.at(-1)?.context;
      (parent ? (parent.inside ??= []) : top).push(added);

      const next = rows[index + 1];
      const deeper = next !== undefined && next.indent > row.indent && !next.closes;
      const known = isContext(pathOf(open), row.line);
      if (deeper || known || (next?.closes === "exit" && next.indent === row.indent && !open.at(-1)?.flat)) {
        added.inside = [];
        open.push({ indent: row.indent, context: added, flat: !deeper });
      }
    }
  });
  return top;
}

function close(open: Open[], row: Row): void {
  while ((open.at(-1)?.indent ?? 0) > row.indent) open.pop();
  const last = open.at(-1);
  if (!last || last.indent < row.indent) return;
  // A `!` is a comment. After an empty context it ends the context.
  if (row.closes === "exit" || (last.flat && last.context.inside?.length === 0)) open.pop();
}

/** Whether the row is outside the innermost open context: by indent or, without indents, because the line belongs to an outer context. */
function leaves(row: Row, open: readonly Open[]): boolean {
  const last = open.at(-1);
  if (!last || row.indent > last.indent) return false;
  if (!last.flat || row.indent < last.indent) return true;
  const path = pathOf(open);
  return !isContext(path, row.line) && path.some((_, depth) => isContext(path.slice(0, depth), row.line));
}

function pathOf(open: readonly Open[]): string[] {
  return open.map(({ context }) => context.line);
}

function significant(text: string): Row[] {
  return text.split(/\r?\n/).flatMap((whole): Row[] => {
    const line = whole.trim();
    if (line === "" || line.startsWith("#") || /^!./.test(line)) return [];
    const closes = line === "!" ? "bang" : /^(exit|quit|exit-[a-z0-9-]+)$/.test(line) ? "exit" : undefined;
    return [{ indent: whole.length - whole.trimStart().length, line, closes }];
  });
}

/** As `show running-config` prints them. */
export function print(lines: readonly ConfigLine[]): string {
  const rows: string[] = [];
  const write = (lines: readonly ConfigLine[], indent: string) => {
    for (const { line, inside } of lines) {
      rows.push(indent + line);
      if (!inside) continue;
      write(inside, `${indent} `);
      rows.push(indent + closingOf(line));
      if (indent === "") rows.push("!");
    }
  };
  write(lines, "");
  return rows.map((row) => `${row}\n`).join("");
}

/** All fragments as one configuration: shared contexts and lines once, each after its dependencies. */
export function merge(fragments: readonly Fragment[]): ConfigLine[] {
  return union(
    fragments.map(({ lines }) => lines),
    [],
  );
}

function union(parts: readonly (readonly ConfigLine[])[], path: readonly string[]): ConfigLine[] {
  const insides = new Map<string, (readonly ConfigLine[])[] | undefined>();
  for (const { line, inside } of parts.flat()) {
    const known = insides.get(line);
    if (known && inside) known.push(inside);
    else if (!known) insides.set(line, inside && [inside]);
  }
  return [...insides]
    .map(([line, parts]): ConfigLine => (parts ? { line, inside: union(parts, [...path, line]) } : { line }))
    .sort((a, b) => fileRank(path, a.line) - fileRank(path, b.line));
}
