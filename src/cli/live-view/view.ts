import type { Embedded } from "../../embedded/embedded.ts";
import { stripControlCharacters } from "../print/columns.ts";
import { colorizeFor } from "../print/color.ts";
import { ObjectTable, conditionText, type RowChange } from "./object-table.ts";
import { frame } from "./layout.ts";
import { Screen } from "./screen.ts";
import { plural } from "../../util/text.ts";

export interface LiveView {
  tell(line: string): void;
  close(): void;
}

type Watched = Pick<Embedded, "store" | "problems">;

/** How often problems are read and ages are redrawn. */
const TICK_MS = 1_000;
const GATHER_MS = 50;
const CHANGES_KEPT = 20;
const MAX_FIELDS = 3;
const VALUE_LENGTH = 40;

export function screenView(embedded: Watched, head: readonly string[]): LiveView {
  const screen = new Screen(process.stdout);
  const changes: string[] = [];
  let gathering: NodeJS.Timeout | undefined;
  const draw = () => {
    gathering = undefined;
    const picture = { head, rows: board.rows(), problems: problemLines(embedded), changes };
    screen.draw(frame(picture, screen.height, colorizeFor(process.stdout), Date.now()));
  };
  const soon = () => (gathering ??= setTimeout(draw, GATHER_MS));
  const tell = (line: string) => {
    changes.push(`${clock()} ${line}`);
    changes.splice(0, changes.length - CHANGES_KEPT);
    soon();
  };
  const board = new ObjectTable(embedded.store, (change) => tell(changeText(change)));
  const tick = setInterval(draw, TICK_MS);
  const onResize = () => {
    screen.forget();
    soon();
  };
  process.stdout.on("resize", onResize);
  draw();
  return {
    tell,
    close() {
      board.close();
      clearInterval(tick);
      clearTimeout(gathering);
      process.stdout.off("resize", onResize);
      screen.close();
    },
  };
}

export function lineView(embedded: Watched, head: readonly string[]): LiveView {
  const tell = (line: string) => write(`${clock()} ${line}`);
  for (const line of head) write(line);
  const board = new ObjectTable(embedded.store, (change) => tell(changeText(change)));
  write(summary(board));
  let known = new Set<string>();
  const refresh = () => {
    const problems = new Set(problemLines(embedded));
    for (const problem of problems) if (!known.has(problem)) tell(`problem: ${problem}`);
    for (const problem of known) if (!problems.has(problem)) tell(`solved: ${problem}`);
    known = problems;
  };
  const tick = setInterval(refresh, TICK_MS);
  refresh();
  return {
    tell,
    close() {
      board.close();
      clearInterval(tick);
    },
  };
}

function write(line: string): void {
  process.stdout.write(`${line}\n`);
}

function problemLines({ problems }: Watched): string[] {
  return problems().map(({ path, line, message }) =>
    stripControlCharacters(`${path}${line === undefined ? "" : `:${line}`}: ${message}`.replaceAll(/ ?\n/g, "; ")),
  );
}

/** `L3VNI openperouter-system/red changed: spec.vni 100 → 101` */
function changeText({ type, row, fields, conditionsTurned }: RowChange): string {
  const { kind, namespace, name } = row;
  const first = fields.slice(0, MAX_FIELDS).map(({ field, from, to }) => `${field} ${valueText(from)} → ${valueText(to)}`);
  const more = fields.length > MAX_FIELDS ? [`${fields.length - MAX_FIELDS} more fields`] : [];
  const details = [...first, ...more, ...(conditionsTurned ? [conditionText(row)] : [])].join(", ");
  return stripControlCharacters(`${kind} ${namespace === "" ? "" : `${namespace}/`}${name} ${type}${details === "" ? "" : `: ${details}`}`);
}

function valueText(value: unknown): string {
  const text = value === undefined ? "none" : stripControlCharacters(value);
  return text.length > VALUE_LENGTH ? `${text.slice(0, VALUE_LENGTH)}…` : text;
}

/** `5 objects: 3 L3VNI, 2 IPAddressPool` */
function summary(board: ObjectTable): string {
  const rows = board.rows();
  const counts = Map.groupBy(rows, ({ kind }) => kind);
  const kinds = [...counts].map(([kind, of]) => `${of.length} ${kind}`);
  return `${plural(rows.length, "object")}${kinds.length > 0 ? `: ${kinds.join(", ")}` : ""}`;
}

function clock(): string {
  return new Date().toLocaleTimeString("en-GB");
}
