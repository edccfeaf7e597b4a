import { printable } from "../../kube/printable.ts";
import type { Color, Colorize } from "./color.ts";

export interface TextCell {
  readonly text: string;
  readonly color?: Color | undefined;
  /** The text with color codes, which have no width. */
  readonly painted?: string;
}

/** The gap between columns, as in kubectl. */
const GAP = 3;
const NARROWEST = 6;

/** Rows as in kubectl. The widths apply to later rows too, and only grow. */
export class Columns {
  readonly #colorize: Colorize;
  readonly #gap: number;
  readonly #widths: number[] = [];

  constructor(colorize: Colorize, gap = GAP) {
    this.#colorize = colorize;
    this.#gap = gap;
  }

  lines(cells: readonly (readonly TextCell[])[]): string[] {
    const rows = cells.map((row) => row.map((cell) => ({ ...cell, text: stripControlCharacters(cell.text) })));
    for (const row of rows) {
      for (const [at, { text }] of row.slice(0, -1).entries()) {
        this.#widths[at] = Math.max(this.#widths[at] ?? NARROWEST, length(text) + this.#gap);
      }
    }
    return rows.map((row) =>
      row
        .map((cell, at) => this.#cell(cell, at === row.length - 1 ? 0 : (this.#widths[at] ?? 0)))
        .join("")
        .trimEnd(),
    );
  }

  #cell({ text, color, painted }: TextCell, width: number): string {
    const colored = painted ?? (color === undefined || text === "" ? text : this.#colorize(color, text));
    return colored + " ".repeat(Math.max(0, width - length(text)));
  }
}

/** On one line and without control characters, so that a value cannot move the cursor. */
export function stripControlCharacters(value: unknown): string {
  if (value === null || value === undefined) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const [line = "", ...more] = text.split(/[\f\n\r]/);
  return printable(line) + (more.length > 0 ? "..." : "");
}

function length(text: string): number {
  return Array.from(text).length;
}

/** Empty if there are no lines. */
export function titled(title: string, lines: readonly string[]): string[][] {
  return lines.length === 0 ? [] : [[title, ...lines.map((line) => `  ${line}`)]];
}
