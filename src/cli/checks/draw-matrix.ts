import type { MatrixField, Band, Matrix } from "../../connectivity/analysis/matrix.ts";
import { stripControlCharacters } from "../print/columns.ts";
import type { Color, Colorize } from "../print/color.ts";

interface Mark {
  readonly text: string;
  readonly color?: Color;
}

const MARKS = {
  reached: { text: ".", color: "green", means: "reached" },
  failed: { text: "X", color: "red", means: "not reached" },
  lookup: { text: "D", color: "red", means: "name not found" },
  unknown: { text: "?", color: "yellow", means: "no result" },
} as const satisfies Record<string, Mark & { means: string }>;
const MAX_NAMES = 3;
const LONGEST_NAME = 48;

/** `describe` returns more about a target than its name. */
export function drawMatrix({ rows, columns, fields }: Matrix, describe: (target: string) => string, colorize: Colorize): string[] {
  const marks = fields.map((line) => line.map(markOf));
  const names = rows.map(nameOf);
  const width = Math.max(...names.map(({ length }) => length));
  const widths = columns.map((_, at) => Math.max(String(at + 1).length, ...marks.map((line) => line[at]?.text.length ?? 0)));
  const head = `${" ".repeat(width)}  ${widths.map((size, at) => String(at + 1).padStart(size)).join(" ")}`;
  const lines = marks.map((line, row) => {
    const cells = line.map(({ text, color }, at) => " ".repeat((widths[at] ?? 0) - text.length) + (color ? colorize(color, text) : text));
    return `${(names[row] ?? "").padEnd(width)}  ${cells.join(" ")}`.trimEnd();
  });
  const legend = columns.map((band, at) => `${String(at + 1).padStart(String(columns.length).length)}  ${titleOf(band, describe)}`);
  return [head, ...lines, "", ...legend, "", meanings(marks.flat(), colorize)];
}

function nameOf(band: Band): string {
  return titleOf(band, (name) => name);
}

/** `node n1`, or `node n1, node n2, node n3 and 4 more`. */
function titleOf({ names }: Band, describe: (name: string) => string): string {
  const [only] = names;
  if (names.length === 1 && only !== undefined) return shortened(describe(only), 2 * LONGEST_NAME);
  const first = names.length > MAX_NAMES + 1 ? names.slice(0, MAX_NAMES) : names;
  const more = names.length - first.length;
  return `${first.map((name) => shortened(name, LONGEST_NAME)).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

function shortened(text: string, most: number): string {
  const clean = stripControlCharacters(text);
  return clean.length > most ? `${clean.slice(0, most - 3)}...` : clean;
}

function markOf(field: MatrixField | undefined): Mark {
  if (!field) return { text: "" };
  const { reached, failed, lookups, unknown } = field;
  const all = reached + failed + unknown;
  if (reached === all) return MARKS.reached;
  if (lookups === all) return MARKS.lookup;
  if (failed === all) return MARKS.failed;
  if (unknown === all) return MARKS.unknown;
  return { text: `${reached}/${all}`, color: failed > 0 ? "red" : "yellow" };
}

function meanings(marks: readonly Mark[], colorize: Colorize): string {
  const plain = Object.values(MARKS).filter((mark) => marks.includes(mark));
  const texts = plain.map(({ text, color, means }) => `${colorize(color, text)} ${means}`);
  const share = marks.find(({ text }) => text.includes("/"));
  const empty = marks.some(({ text }) => text === "");
  return [...texts, ...(share ? [`${share.text} reached of tried`] : []), ...(empty ? ["empty: not tried"] : [])].join("   ");
}
