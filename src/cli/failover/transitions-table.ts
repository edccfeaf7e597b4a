import { humanDuration } from "../../util/age.ts";
import { type TextCell, Columns, stripControlCharacters } from "../print/columns.ts";
import type { Color, Colorize } from "../print/color.ts";
import type { TransitionRecord } from "./transitions.ts";

/** With the site, if there are two. */
export interface TransitionRow extends TransitionRecord {
  readonly namespace?: string;
  readonly policy?: string;
}

const COLORS: Readonly<Record<TransitionRecord["outcome"], Color>> = { Completed: "green", Running: "yellow", Superseded: "yellow" };

export function drawSwitches(switches: readonly TransitionRow[], now: number, colorize: Colorize): string[] {
  const isNamed = switches.some(({ policy }) => policy !== undefined);
  const writable = switches.some(({ volumesSeconds }) => volumesSeconds !== undefined);
  const forced = switches.some((made) => made.forced !== undefined);
  const rows = switches.map((made): TextCell[] => [
    ...(isNamed ? [{ text: made.namespace ?? "" }, { text: made.policy ?? "" }] : []),
    { text: made.to },
    { text: made.mode },
    { text: made.startTime },
    ...(writable ? [{ text: durationText(made.volumesSeconds) }] : []),
    { text: tookText(made, now) },
    { text: durationText(made.lossSeconds) },
    { text: made.outcome, color: COLORS[made.outcome] },
    { text: longestStep(made) },
    ...(forced ? [{ text: stripControlCharacters(made.forced), color: "red" as const }] : []),
  ]);
  const head = [
    ...(isNamed ? ["NAMESPACE", "POLICY"] : []),
    "TO",
    "MODE",
    "STARTED",
    ...(writable ? ["VOLUMES"] : []),
    "TOOK",
    "RPO",
    "OUTCOME",
    "LONGEST STEP",
    ...(forced ? ["FORCED BECAUSE"] : []),
  ];
  return new Columns(colorize).lines([head.map((text) => ({ text })), ...rows]);
}

function tookText({ outcome, startTime, seconds }: TransitionRecord, now: number): string {
  if (outcome === "Running") return `${humanDuration(now - Date.parse(startTime))} so far`;
  return durationText(seconds);
}

function durationText(seconds: number | undefined): string {
  return seconds === undefined ? "" : humanDuration(seconds * 1000);
}

/** `AwaitTermination 31s`; nothing where none took a second. */
function longestStep({ steps }: TransitionRecord): string {
  const [longest] = steps.toSorted((one, other) => (other.seconds ?? 0) - (one.seconds ?? 0));
  return longest?.seconds ? `${longest.name} ${humanDuration(longest.seconds * 1000)}` : "";
}
