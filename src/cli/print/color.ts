import { styleText } from "node:util";

export type Colour = "green" | "red" | "yellow" | "gray" | "bold";

/** Puts colour on a text, or leaves it. */
export type Paint = (colour: Colour, text: string) => string;

export const plain: Paint = (_colour, text) => text;

/** Colours where a person looks: on a terminal, unless NO_COLOR says otherwise. */
export function paintFor(stream: NodeJS.WriteStream): Paint {
  return (colour, text) => styleText(colour, text, { stream });
}

/** Conditions that nobody wants to be true. */
const BAD = /degraded|exhausted|error|fail|stale|silent|unavailable|unschedulable|pressure|conflict/i;

/** The colour of a condition's status; nothing for what is no such status. */
export function statusColour(condition: string, status: string): Colour | undefined {
  if (status === "Unknown") return "yellow";
  if (status !== "True" && status !== "False") return undefined;
  return (status === "True") === BAD.test(condition) ? "red" : "green";
}
