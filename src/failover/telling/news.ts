import type { FailoverStatus } from "../../api/failover/failover-policy.ts";
import type { EventText } from "../../kube/event-correlator.ts";

type Transition = NonNullable<FailoverStatus["transition"]>;

/** A step that is done, and how long it took. */
interface StepDone {
  readonly name: string;
  readonly seconds: number;
}

/** What of a status is worth telling those who have read the one before. */
export interface News {
  readonly events: readonly EventText[];
  readonly steps: readonly StepDone[];
  /** A switch that is done, and how long it took. */
  readonly completed?: Pick<Transition, "to" | "mode"> & { readonly seconds: number };
}

export function newsOf(before: FailoverStatus | undefined, after: FailoverStatus): News {
  const [was, is] = [before?.transition, after.transition];
  const isNew = is !== undefined && (was?.startTime !== is.startTime || was.to !== is.to);
  const events: EventText[] = [];
  if (isNew && was && was.completionTime === undefined) {
    events.push({ type: "Normal", reason: "FailoverSuperseded", message: `The switch to ${was.to} was left: something else is wanted` });
  }
  if (isNew) events.push({ type: "Normal", reason: "FailoverStarted", message: `Switching to ${is.to} in ${is.mode} mode` });
  if (is?.forced !== undefined && (isNew || was?.forced === undefined)) {
    events.push({ type: "Warning", reason: "FailoverForced", message: `Taken over without the other site's release: ${is.forced}` });
  }
  const steps = is ? stepsDone(isNew ? undefined : was, is) : [];
  for (const { name, seconds } of steps) events.push({ type: "Normal", reason: name, message: `${name} is done after ${seconds} s` });
  const error = errorNews(before, after);
  if (error) events.push(error);
  if (is?.completionTime === undefined || (!isNew && was?.completionTime !== undefined)) return { events, steps };
  const seconds = secondsBetween(is.startTime, is.completionTime);
  events.push({ type: "Normal", reason: "FailoverCompleted", message: `This site is ${is.to}; the switch took ${seconds} s` });
  return { events, steps, completed: { to: is.to, mode: is.mode, seconds } };
}

function stepsDone(was: Transition | undefined, is: Transition): StepDone[] {
  const before = new Set(was?.steps.filter(({ state }) => state === "Done").map(({ name }) => name));
  return is.steps
    .filter(({ name, state }) => state === "Done" && !before.has(name))
    .map(({ name, startTime, completionTime }) => ({ name, seconds: secondsBetween(startTime, completionTime) }));
}

/** An error is told when it appears and when it becomes another. */
function errorNews(before: FailoverStatus | undefined, after: FailoverStatus): EventText | undefined {
  const [was, is] = [errorOf(before), errorOf(after)];
  if (is?.status !== "True" || (was?.status === "True" && was.reason === is.reason && was.message === is.message)) return undefined;
  return { type: "Warning", reason: is.reason, message: is.message };
}

function errorOf(status: FailoverStatus | undefined) {
  return status?.conditions?.find(({ type }) => type === "Error");
}

function secondsBetween(start: string | undefined, end: string | undefined): number {
  return start === undefined || end === undefined ? 0 : Math.max(0, Math.round((Date.parse(end) - Date.parse(start)) / 1000));
}
