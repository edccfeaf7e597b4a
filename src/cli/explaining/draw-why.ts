import type { Answer, Cause, Step } from "../../explain/answer.ts";
import type { Paint } from "../print/color.ts";
import { ageOf, healthWord, nothingWrong, remedyLines, saidOf, titleOf } from "./words.ts";

/** The nearest symptoms tell the story; the rest is counted. */
const SYMPTOMS = 8;

/** The path from a symptom down to its causes, and what to do about each of them. */
export function drawAnswer({ path, causes }: Answer, now: number, paint: Paint): string[] {
  const lines = [stepText(path, now, paint), ...stepLines(path.needs, "", now, paint)];
  if (path.health === "Healthy") return lines;
  for (const cause of causes) {
    const own = cause.id === path.id ? "It is to blame itself." : `The cause is ${titleOf(cause.thing)}.`;
    lines.push("", paint("bold", own), ...remedyLines(cause));
  }
  return lines;
}

function stepLines(steps: readonly Step[], indent: string, now: number, paint: Paint): string[] {
  return steps.flatMap((step, nth) => {
    const last = nth === steps.length - 1;
    const below = stepLines(step.needs, `${indent}${last ? "   " : "│  "}`, now, paint);
    return [`${indent}${last ? "└─ " : "├─ "}${stepText(step, now, paint)}`, ...below];
  });
}

function stepText(step: Step, now: number, paint: Paint): string {
  const said = saidOf(step);
  const tail = step.cause ? paint("bold", "  ← cause") : "";
  return `${titleOf(step.thing)} is ${healthWord(step.health, paint)}${ageOf(step, now)}${said === "" ? "" : `: ${said}`}${tail}`;
}

/** Everything that is wrong: causes first, under each what is wrong because of it. */
export function drawCauses(causes: readonly Cause[], now: number, paint: Paint, isWhole = true): string[] {
  if (causes.length === 0) return [nothingWrong(isWhole)];
  return causes.flatMap((cause, nth) => [...(nth === 0 ? [] : [""]), ...causeLines(cause, now, paint)]);
}

function causeLines(cause: Cause, now: number, paint: Paint): string[] {
  const said = saidOf(cause);
  const { symptoms } = cause;
  const shown = symptoms.slice(0, SYMPTOMS);
  return [
    `${paint("bold", titleOf(cause.thing))} is ${healthWord(cause.health, paint)}${ageOf(cause, now)}${said === "" ? "" : `: ${said}`}`,
    ...shown.map((symptom) => `  → ${titleOf(symptom.thing)} is ${healthWord(symptom.health, paint)}${ageOf(symptom, now)}`),
    ...(symptoms.length > shown.length ? [`  → and ${symptoms.length - shown.length} more`] : []),
    ...remedyLines(cause).map((line) => `  ${line}`),
  ];
}
