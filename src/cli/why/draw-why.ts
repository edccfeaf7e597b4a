import type { Answer, Cause, PathNode } from "../../explain/answer.ts";
import type { Colorize } from "../print/color.ts";
import { componentTitle, effectLine, fixLines, healthLine, messageText, noProblemsText } from "./format.ts";
import { firstLines } from "../../util/text.ts";

/** The nearest effects are listed; the rest is counted. */
const MAX_EFFECTS = 8;

/** The path from a symptom down to its causes, and a fix for each of them. */
export function drawAnswer({ path, causes }: Answer, now: number, colorize: Colorize): string[] {
  const lines = [stepText(path, now, colorize), ...stepLines(path.dependencies, "", now, colorize)];
  if (path.health === "Healthy") return lines;
  for (const cause of causes) lines.push("", colorize("bold", `Cause:  ${componentTitle(cause.component)}`), ...fixLines(cause));
  return lines;
}

function stepLines(steps: readonly PathNode[], indent: string, now: number, colorize: Colorize): string[] {
  return steps.flatMap((step, nth) => {
    const last = nth === steps.length - 1;
    const below = stepLines(step.dependencies, `${indent}${last ? "   " : "│  "}`, now, colorize);
    return [`${indent}${last ? "└─ " : "├─ "}${stepText(step, now, colorize)}`, ...below];
  });
}

function stepText(step: PathNode, now: number, colorize: Colorize): string {
  const message = messageText(step);
  const tail = step.cause ? colorize("bold", "  ← cause") : "";
  return `${healthLine(step, now, colorize)}${message === "" ? "" : `: ${message}`}${tail}`;
}

/** Everything that is wrong: each cause with its message, its effects and its fix. */
export function drawCauses(causes: readonly Cause[], now: number, colorize: Colorize, isWhole = true): string[] {
  if (causes.length === 0) return [noProblemsText(isWhole)];
  return causes.flatMap((cause, nth) => [...(nth === 0 ? [] : [""]), ...causeLines(cause, now, colorize)]);
}

function causeLines(cause: Cause, now: number, colorize: Colorize): string[] {
  const message = messageText(cause);
  const { symptoms } = cause;
  const effects = symptoms.map((symptom) => effectLine(symptom, now, colorize));
  return [
    healthLine(cause, now, colorize, (subject) => colorize("bold", subject)),
    ...(message === "" ? [] : [`  ${message}`]),
    ...firstLines(effects, MAX_EFFECTS).map((line) => `  → ${line}`),
    ...fixLines(cause).map((line) => `  ${line}`),
  ];
}
