import type { Health, Remedy, Thing } from "../../api/health.ts";
import { humanDuration } from "../../util/age.ts";
import type { Verdict } from "../../explain/answer.ts";
import { harmless } from "../print/columns.ts";
import type { Colour, Paint } from "../print/color.ts";

const COLOURS: Readonly<Record<Health, Colour>> = { Healthy: "green", Degraded: "yellow", Unknown: "yellow", Down: "red" };

/** `Service shop/web`, `Link eth1 on node2`. */
export function titleOf({ kind, namespace, name, node }: Thing): string {
  const where = namespace === undefined ? name : `${namespace}/${name}`;
  return harmless(`${kind} ${where}${node === undefined ? "" : ` on ${node}`}`);
}

export function healthWord(health: Health, paint: Paint): string {
  return paint(COLOURS[health], health);
}

/** Of what could not be read nobody says that it is well. */
export function nothingWrong(isWhole: boolean): string {
  return isWhole ? "Nothing is wrong." : "Nothing is wrong in what could be read.";
}

/** `for 2m`, or nothing where it is not known. */
export function ageOf({ since }: Pick<Verdict, "since">, now: number): string {
  return since === undefined ? "" : ` for ${humanDuration(Math.max(0, now - Date.parse(since)))}`;
}

/** The words of the thing itself, with its reason. */
export function saidOf({ reason, message }: Pick<Verdict, "reason" | "message">): string {
  const words = [reason, message].filter((word) => word !== undefined).join(": ");
  return words === "" ? "" : harmless(words);
}

/** What to change and what to run, a line each. */
export function remedyLines({ remedy }: { remedy?: Remedy | undefined }): string[] {
  if (!remedy) return [];
  const { text, change, command } = remedy;
  const object = change && `${titleOf(change.thing)}${change.field === undefined ? "" : `, ${harmless(change.field)}`}`;
  return [
    `To mend: ${harmless(text)}`,
    ...(object === undefined ? [] : [`Change:  ${object}`]),
    ...(command === undefined ? [] : [`Run:     ${harmless(command)}`]),
  ];
}
