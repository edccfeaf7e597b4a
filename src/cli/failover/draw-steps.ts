import { humanDuration } from "../../util/age.ts";
import { type TextCell, Columns } from "../print/columns.ts";
import type { Color, Colorize } from "../print/color.ts";
import type { TransitionRecord, TransitionStep } from "./transitions.ts";
import { waitDescription } from "./wait-text.ts";

const COLORS: Readonly<Record<TransitionStep["state"], Color | undefined>> = {
  Done: "green",
  Running: "yellow",
  Waiting: "yellow",
  Pending: undefined,
};
const WIDTH = 20;
const HEAD = ["STEP", "STATE", "TOOK", "WHEN"];

export function drawSteps({ course: steps = [], startTime, completionTime }: TransitionRecord, now: number, colorize: Colorize): string[] {
  const begin = Date.parse(startTime);
  const end = completionTime === undefined ? Math.max(now, begin) : Date.parse(completionTime);
  const rows = steps.map((step): TextCell[] => {
    const run = runOf(step, end);
    return [
      { text: step.name },
      { text: step.state, color: COLORS[step.state] },
      { text: run ? humanDuration(run.to - run.from) : "" },
      { text: run ? bar(run, begin, end) : "" },
    ];
  });
  const [head = "", ...lines] = new Columns(colorize).lines([HEAD.map((text) => ({ text })), ...rows]);
  return [head, ...lines.flatMap((line, at) => [line].concat(waitLines(steps[at], now)))];
}

interface Run {
  readonly from: number;
  readonly to: number;
}

function runOf({ startTime, completionTime }: TransitionStep, end: number): Run | undefined {
  if (startTime === undefined) return undefined;
  const from = Date.parse(startTime);
  return { from, to: Math.max(from, completionTime === undefined ? end : Date.parse(completionTime)) };
}

/** `    ====            ` */
function bar({ from, to }: Run, begin: number, end: number): string {
  const column = (at: number) => (end === begin ? 0 : Math.min(WIDTH, Math.max(0, Math.round(((at - begin) / (end - begin)) * WIDTH))));
  const first = Math.min(column(from), WIDTH - 1);
  return " ".repeat(first) + "=".repeat(Math.max(1, column(to) - first));
}

function waitLines(step: TransitionStep | undefined, now: number): string[] {
  return step?.waitingFor ? [`  waits: ${waitText(step, now)}`] : [];
}

/** `Pod shop/db-0 belongs to StatefulSet db and runs on node n1 (and 2 more), for 34s` */
export function waitText({ waitingFor }: Pick<TransitionStep, "waitingFor">, now: number): string {
  if (!waitingFor) return "";
  const { others = 0, since } = waitingFor;
  const more = others > 0 ? ` (and ${others} more)` : "";
  const waited = since === undefined ? 0 : now - Date.parse(since);
  return `${waitDescription(waitingFor)}${more}${waited < 1000 ? "" : `, for ${humanDuration(waited)}`}`;
}
