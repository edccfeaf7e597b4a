import { styleText } from "node:util";

export type Color = "green" | "red" | "yellow" | "gray" | "bold";

/** Puts color on a text, or leaves it. */
export type Colorize = (color: Color, text: string) => string;

export const plain: Colorize = (_color, text) => text;

/** Colors where a person looks: on a terminal, unless NO_COLOR says otherwise. */
export function colorizeFor(stream: NodeJS.WriteStream): Colorize {
  return (color, text) => styleText(color, text, { stream });
}

/** Conditions that nobody wants to be true. */
const BAD = /degraded|exhausted|error|fail|stale|silent|unavailable|unschedulable|pressure|conflict/i;

/** The color of a condition's status; nothing for what is no such status. */
export function statusColor(condition: string, status: string): Color | undefined {
  if (status === "Unknown") return "yellow";
  if (status !== "True" && status !== "False") return undefined;
  return (status === "True") === BAD.test(condition) ? "red" : "green";
}
