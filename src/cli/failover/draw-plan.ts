import type { SwitchPlan, SwitchStep } from "../../failover/steps/step.ts";
import { type TextCell, Columns, stripControlCharacters } from "../print/columns.ts";
import type { Color, Colorize } from "../print/color.ts";
import { objectTitle, waitDescription } from "./wait-text.ts";
import type { PolicyFailure } from "../../failover/policy/failure.ts";

const STATES: Readonly<Record<SwitchStep["state"], { readonly text: string; readonly color?: Color }>> = {
  Done: { text: "done", color: "green" },
  Act: { text: "now", color: "bold" },
  Wait: { text: "waits", color: "yellow" },
  Pending: { text: "then" },
};
/** The maximum of writes per step that are listed. */
const MAX_LINES = 20;
const MAX_LATER_LINES = 3;

/** Blocked by something that the plan itself does not change: rejected, failed, or waiting with nothing to write. */
export function isBlocked({ rejections, failures, steps }: SwitchPlan): boolean {
  const waits = steps.some(({ state }) => state === "Wait") && !steps.some(({ state }) => state === "Act");
  return rejections.length > 0 || failures.length > 0 || waits;
}

export function drawPlan({ rejections, failures, notes: owners, steps, resources }: SwitchPlan, colorize: Colorize): string[] {
  const notes = drawNotes([...owners, ...resources.map(({ resource, error, message }) => ({ ...resource, error, message }))]);
  return [
    ...(rejections.length > 0 ? ["Rejected, nothing is written:", ...drawFailures(rejections, colorize), ""] : []),
    ...(failures.length > 0 ? ["Failed:", ...drawFailures(failures, colorize), ""] : []),
    ...stepLines(steps, colorize),
    ...(notes.length > 0 ? ["", ...notes] : []),
  ];
}

/** `  Deployment shop/web: NotFound: spec.managedResources[0]: There is none` */
export function drawFailures(failures: readonly PolicyFailure[], colorize: Colorize): string[] {
  return failures.map((failure) => {
    const { reason, field, message } = failure;
    return `  ${stripControlCharacters(objectTitle(failure))}: ${colorize("red", reason)}: ${stripControlCharacters(field === undefined ? message : `${field}: ${message}`)}`;
  });
}

interface Noted {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly error?: string | undefined;
  readonly message?: string | undefined;
}

export function drawNotes(resources: readonly Noted[]): string[] {
  const notes = resources.flatMap(({ error, message, ...resource }) =>
    error === undefined && message !== undefined ? [`  ${stripControlCharacters(`${objectTitle(resource)}: ${message}`)}`] : [],
  );
  return notes.length > 0 ? ["Notes:", ...notes] : [];
}

function stepLines(steps: readonly SwitchStep[], colorize: Colorize): string[] {
  const head = ["#", "STEP", "WHEN", "WHAT"].map((text): TextCell => ({ text }));
  const rows = steps.flatMap((step, at): TextCell[][] => {
    const { text, color } = STATES[step.state];
    const [first = "", ...more] = whatOf(step);
    return [
      [{ text: String(at + 1) }, { text: step.name }, { text, color }, { text: stripControlCharacters(first) }],
      ...more.map((line): TextCell[] => [{ text: "" }, { text: "" }, { text: "" }, { text: stripControlCharacters(line) }]),
    ];
  });
  return new Columns(colorize).lines([head, ...rows]);
}

function whatOf({ state, writes, token, waits }: SwitchStep): string[] {
  return [
    ...(token ? [`set the token to ${token.state}, epoch ${token.epoch}`] : []),
    ...few(
      writes.map(({ description }) => description),
      MAX_LINES,
    ),
    ...few(
      waits.map((wait) => `wait: ${waitDescription(wait)}`),
      state === "Pending" ? MAX_LATER_LINES : MAX_LINES,
    ),
  ];
}

function few(lines: readonly string[], most: number): string[] {
  return lines.length > most + 1 ? [...lines.slice(0, most), `and ${lines.length - most} more; -o json has all of them`] : [...lines];
}
