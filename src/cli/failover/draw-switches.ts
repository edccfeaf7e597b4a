import { humanDuration } from "../../embedded/http/table/age.ts";
import { type Cell, Columns, harmless } from "../printing/columns.ts";
import type { Colour, Paint } from "../printing/paint.ts";
import type { Switch } from "./switches.ts";

/** A switch, and where it was made where that is not clear. */
export interface PlacedSwitch extends Switch {
  readonly namespace?: string;
  readonly policy?: string;
}

const COLOURS: Readonly<Record<Switch["outcome"], Colour>> = { Completed: "green", Running: "yellow", Superseded: "yellow" };
const HEAD = ["TO", "MODE", "STARTED", "TOOK", "RPO", "OUTCOME", "LONGEST STEP", "FORCED BECAUSE"];

/** A table of switches, in the order in which they come. */
export function drawSwitches(switches: readonly PlacedSwitch[], now: number, paint: Paint): string[] {
  const placed = switches.some(({ policy }) => policy !== undefined);
  const forced = switches.some((made) => made.forced !== undefined);
  const rows = switches.map((made): Cell[] => [
    ...(placed ? [{ text: made.namespace ?? "" }, { text: made.policy ?? "" }] : []),
    { text: made.to },
    { text: made.mode },
    { text: made.startTime },
    { text: tookText(made, now) },
    { text: made.lossSeconds === undefined ? "" : humanDuration(made.lossSeconds * 1000) },
    { text: made.outcome, colour: COLOURS[made.outcome] },
    { text: longestStep(made) },
    ...(forced ? [{ text: harmless(made.forced), colour: "red" as const }] : []),
  ]);
  const head = [...(placed ? ["NAMESPACE", "POLICY"] : []), ...(forced ? HEAD : HEAD.slice(0, -1))];
  return new Columns(paint).lines([head.map((text) => ({ text })), ...rows]);
}

function tookText({ outcome, startTime, seconds }: Switch, now: number): string {
  if (outcome === "Running") return `${humanDuration(now - Date.parse(startTime))} so far`;
  return seconds === undefined ? "" : humanDuration(seconds * 1000);
}

/** `AwaitTermination 31s`; nothing where none took a second. */
function longestStep({ steps }: Switch): string {
  const [longest] = steps.toSorted((one, other) => (other.seconds ?? 0) - (one.seconds ?? 0));
  return longest?.seconds ? `${longest.name} ${humanDuration(longest.seconds * 1000)}` : "";
}
