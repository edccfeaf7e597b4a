import { styleText } from "node:util";

export type Color = "green" | "red" | "yellow" | "gray" | "bold";

export type Colorize = (color: Color, text: string) => string;

export const plain: Colorize = (_color, text) => text;

/** Colors on a terminal, unless NO_COLOR is set. */
export function colorizeFor(stream: NodeJS.WriteStream): Colorize {
  return (color, text) => styleText(color, text, { stream });
}

/** Conditions that are bad when True. */
const BAD = /degraded|exhausted|error|fail|stale|silent|unavailable|unschedulable|pressure|conflict/i;

/** Undefined if the status has no color. */
export function statusColor(condition: string, status: string): Color | undefined {
  if (status === "Unknown") return "yellow";
  if (status !== "True" && status !== "False") return undefined;
  return (status === "True") === BAD.test(condition) ? "red" : "green";
}
