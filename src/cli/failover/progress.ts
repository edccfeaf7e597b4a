import type { FailoverPolicy, Role } from "../../api/failover/failover-policy.ts";
import type { Condition } from "../../api/kind.ts";
import { humanDuration } from "../../util/age.ts";
import { stripControlCharacters } from "../print/columns.ts";
import type { Colorize } from "../print/color.ts";
import { drawSteps, waitText } from "./draw-steps.ts";
import { titleOf } from "./read-policy.ts";
import { type TransitionRecord, switchesOf, type TransitionStep } from "./transitions.ts";

/** A switch that was asked for, with the generation that asks for it. */
export interface RequestedTransition {
  readonly to: Role;
  readonly generation: number;
}

export type TransitionState =
  /** No controller has processed it since the request. */
  | { readonly is: "unseen" }
  | { readonly is: "running" }
  | { readonly is: "complete" }
  /** The policy cannot be carried out as it is, and nothing was written. */
  | { readonly is: "refused"; readonly message: string }
  /** desiredState has changed since. */
  | { readonly is: "superseded" };

/** The reasons of the condition Error for which nothing is written. */
const BLOCKERS: ReadonlySet<string> = new Set(["Invalid", "Conflict", "Refused", "NotPermitted", "PeerRemoved", "Forbidden"]);

export function transitionState({ spec, status }: FailoverPolicy, { to, generation }: RequestedTransition): TransitionState {
  if (spec.desiredState !== to) return { is: "superseded" };
  if ((status?.observedGeneration ?? 0) < generation) return { is: "unseen" };
  const error = condition(status?.conditions, "Error");
  if (error && BLOCKERS.has(error.reason ?? "") && !condition(status?.conditions, "InProgress"))
    return { is: "refused", message: `${error.reason}: ${error.message ?? ""}` };
  return { is: condition(status?.conditions, "Complete") ? "complete" : "running" };
}

/** The condition, if it is true. */
function condition(conditions: readonly Partial<Condition>[] | undefined, type: string): Partial<Condition> | undefined {
  return conditions?.find((one) => one.type === type && one.status === "True");
}

interface ProgressOptions {
  /** Since when it is watched. */
  readonly since: number;
  readonly now: number;
  readonly paint: Colorize;
}

/** What a terminal shows of a switch. */
export function drawProgress(policy: FailoverPolicy, requested: RequestedTransition, { since, now, paint }: ProgressOptions): string[] {
  const { spec, status } = policy;
  const head = paint("bold", `FailoverPolicy ${titleOf(policy)} to ${requested.to}, ${humanDuration(now - since)}`);
  const made = currentSwitch(policy, requested);
  if (!made) return [head, "", "No controller has processed it yet."];
  const error = condition(status?.conditions, "Error");
  return [
    head,
    "",
    ...drawSteps(made, now, paint),
    "",
    ...(status?.summary === undefined ? [] : [stripControlCharacters(status.summary)]),
    ...(error ? [paint("red", stripControlCharacters(`${error.reason}: ${error.message}`))] : []),
    ...(spec.peer && status?.peer?.reachable === false
      ? [paint("red", stripControlCharacters(`Cannot read the other site: ${status.peer.message ?? ""}`))]
      : []),
  ];
}

/** What is new about a switch, in a line each, for logs and pipes. */
export function progressLines(
  before: FailoverPolicy | undefined,
  policy: FailoverPolicy,
  requested: RequestedTransition,
  now: number,
): string[] {
  const made = currentSwitch(policy, requested);
  if (!made) return [];
  const old = new Map((before && currentSwitch(before, requested)?.course)?.map((step) => [step.name, step]));
  const steps = (made.course ?? []).flatMap((step) => {
    const text = stepText(step, now);
    const known = old.get(step.name);
    return text === "" || (known && fingerprint(known) === fingerprint(step)) ? [] : [`${step.name} ${text}`];
  });
  const [was, is] = [before, policy].map((one) => condition(one?.status?.conditions, "Error"));
  const error = is && is.message !== was?.message ? [`Error ${is.reason}: ${is.message}`] : was && !is ? ["Error cleared"] : [];
  return [...steps, ...error].map(stripControlCharacters);
}

/** The switch that was asked for, once a controller has begun it. */
function currentSwitch(policy: FailoverPolicy, requested: RequestedTransition): TransitionRecord | undefined {
  const isObserved = (policy.status?.observedGeneration ?? 0) >= requested.generation;
  const [latest] = switchesOf(policy);
  return isObserved && latest?.to === requested.to ? latest : undefined;
}

function stepText(step: TransitionStep, now: number): string {
  const { state, startTime, completionTime } = step;
  // What runs is done or waits a moment later.
  if (state === "Done") {
    const took = startTime === undefined || completionTime === undefined ? 0 : Date.parse(completionTime) - Date.parse(startTime);
    return `done after ${humanDuration(took)}`;
  }
  return step.waitingFor ? `waits: ${waitText(step, now)}` : "";
}

/** Without the times, which move by themselves, and without whether it also writes while it waits. */
function fingerprint({ state, waitingFor }: TransitionStep): string {
  return JSON.stringify([state === "Done", waitingFor?.kind, waitingFor?.namespace, waitingFor?.name, waitingFor?.message]);
}

/** `AwaitTermination waits: Pod shop/db-0 ...`, for a user who stops watching. */
export function blockedBy(policy: FailoverPolicy, requested: RequestedTransition, now: number): string {
  const made = currentSwitch(policy, requested);
  if (!made) return "no controller has processed it; is plumbline controller running?";
  const step = made.course?.find(({ state }) => state !== "Done");
  const error = condition(policy.status?.conditions, "Error");
  if (step?.waitingFor) return `${step.name} waits: ${waitText(step, now)}`;
  if (error) return stripControlCharacters(`${error.reason}: ${error.message}`);
  return step ? `${step.name} is ${step.state.toLowerCase()}` : stripControlCharacters(policy.status?.summary ?? "it is not complete");
}
