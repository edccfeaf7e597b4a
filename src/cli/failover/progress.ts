import type { FailoverPolicy, Role } from "../../api/failover/failover-policy.ts";
import type { Condition } from "../../api/kind.ts";
import { humanDuration } from "../../util/age.ts";
import { stripControlCharacters } from "../print/columns.ts";
import type { Colorize } from "../print/color.ts";
import { drawSteps, waitText } from "./draw-steps.ts";
import { titleOf } from "./read-policy.ts";
import { type TransitionRecord, switchesOf, type TransitionStep } from "./transitions.ts";

export interface RequestedTransition {
  readonly to: Role;
  readonly generation: number;
}

export type TransitionState =
  /** No controller has processed it since the request. */
  | { readonly is: "unseen" }
  | { readonly is: "running" }
  | { readonly is: "complete" }
  | { readonly is: "refused"; readonly message: string }
  | { readonly is: "superseded" };

/** Reasons of the condition Error with which the controller writes nothing. */
const BLOCKERS: ReadonlySet<string> = new Set(["Invalid", "Conflict", "Refused", "NotPermitted", "PeerRemoved", "Forbidden"]);

export function transitionState({ spec, status }: FailoverPolicy, { to, generation }: RequestedTransition): TransitionState {
  if (spec.desiredState !== to) return { is: "superseded" };
  if ((status?.observedGeneration ?? 0) < generation) return { is: "unseen" };
  const error = condition(status?.conditions, "Error");
  if (error && BLOCKERS.has(error.reason ?? "") && !condition(status?.conditions, "InProgress"))
    return { is: "refused", message: `${error.reason}: ${error.message ?? ""}` };
  return { is: condition(status?.conditions, "Complete") ? "complete" : "running" };
}

/** The condition, if its status is True. */
function condition(conditions: readonly Partial<Condition>[] | undefined, type: string): Partial<Condition> | undefined {
  return conditions?.find((one) => one.type === type && one.status === "True");
}

interface ProgressOptions {
  /** Since when it is watched. */
  readonly since: number;
  readonly now: number;
  readonly paint: Colorize;
}

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

function currentSwitch(policy: FailoverPolicy, requested: RequestedTransition): TransitionRecord | undefined {
  const isObserved = (policy.status?.observedGeneration ?? 0) >= requested.generation;
  const [latest] = switchesOf(policy);
  return isObserved && latest?.to === requested.to ? latest : undefined;
}

function stepText(step: TransitionStep, now: number): string {
  const { state, startTime, completionTime } = step;
  // A running step is done or waiting a moment later.
  if (state === "Done") {
    const took = startTime === undefined || completionTime === undefined ? 0 : Date.parse(completionTime) - Date.parse(startTime);
    return `done after ${humanDuration(took)}`;
  }
  return step.waitingFor ? `waits: ${waitText(step, now)}` : "";
}

/** Without times and without whether the step writes while it waits: both change without being news. */
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
