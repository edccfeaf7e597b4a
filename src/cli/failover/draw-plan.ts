import type { Plan, PolicyFailure, Step } from "../../failover/steps/step.ts";
import { type Cell, Columns, harmless } from "../print/columns.ts";
import type { Colour, Paint } from "../print/color.ts";
import { objectTitle, waitSentence } from "./wait-text.ts";

const STATES: Readonly<Record<Step["state"], { readonly text: string; readonly colour?: Colour }>> = {
  Done: { text: "done", colour: "green" },
  Act: { text: "now", colour: "bold" },
  Wait: { text: "waits", colour: "yellow" },
  Pending: { text: "then" },
};
/** Of many writes of one step people read the first few; and what is waited for only later, an example. */
const SHOWN = 20;
const LATER_SHOWN = 3;

/** Whether something is in the way that the plan itself does not move: it is refused, something is wrong, or there is nothing to write and it waits. */
export function isBlocked({ refusals, failures, steps }: Plan): boolean {
  const waits = steps.some(({ state }) => state === "Wait") && !steps.some(({ state }) => state === "Act");
  return refusals.length > 0 || failures.length > 0 || waits;
}

/** What is wrong comes first, then the steps in their order, each with what it writes and what it waits for, and last what no step is about. */
export function drawPlan({ refusals, failures, notes: owners, steps, resources }: Plan, paint: Paint): string[] {
  const notes = drawNotes([...owners, ...resources.map(({ resource, error, message }) => ({ ...resource, error, message }))]);
  return [
    ...(refusals.length > 0 ? ["Refused, so nothing is written:", ...drawFailures(refusals, paint), ""] : []),
    ...(failures.length > 0 ? ["Wrong:", ...drawFailures(failures, paint), ""] : []),
    ...stepLines(steps, paint),
    ...(notes.length > 0 ? ["", ...notes] : []),
  ];
}

/** `  Deployment shop/web: NotFound: spec.managedResources[0]: There is none` */
export function drawFailures(failures: readonly PolicyFailure[], paint: Paint): string[] {
  return failures.map((failure) => {
    const { reason, field, message } = failure;
    return `  ${harmless(objectTitle(failure))}: ${paint("red", reason)}: ${harmless(field === undefined ? message : `${field}: ${message}`)}`;
  });
}

interface Noted {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly error?: string | undefined;
  readonly message?: string | undefined;
}

/** What is said of resources with which nothing is wrong: that one is left as it is, above all. */
export function drawNotes(resources: readonly Noted[]): string[] {
  const notes = resources.flatMap(({ error, message, ...resource }) =>
    error === undefined && message !== undefined ? [`  ${harmless(`${objectTitle(resource)}: ${message}`)}`] : [],
  );
  return notes.length > 0 ? ["Worth knowing:", ...notes] : [];
}

function stepLines(steps: readonly Step[], paint: Paint): string[] {
  const head = ["#", "STEP", "WHEN", "WHAT"].map((text): Cell => ({ text }));
  const rows = steps.flatMap((step, at): Cell[][] => {
    const { text, colour } = STATES[step.state];
    const [first = "", ...more] = whatOf(step);
    return [
      [{ text: String(at + 1) }, { text: step.name }, { text, colour }, { text: harmless(first) }],
      ...more.map((line): Cell[] => [{ text: "" }, { text: "" }, { text: "" }, { text: harmless(line) }]),
    ];
  });
  return new Columns(paint).lines([head, ...rows]);
}

function whatOf({ state, writes, token, waits }: Step): string[] {
  return [
    ...(token ? [`set the token to ${token.state}, epoch ${token.epoch}`] : []),
    ...few(
      writes.map(({ words }) => words),
      SHOWN,
    ),
    ...few(
      waits.map((wait) => `wait: ${waitSentence(wait)}`),
      state === "Pending" ? LATER_SHOWN : SHOWN,
    ),
  ];
}

function few(lines: readonly string[], most: number): string[] {
  return lines.length > most + 1 ? [...lines.slice(0, most), `and ${lines.length - most} more; -o json has all of them`] : [...lines];
}
