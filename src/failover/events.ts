import { priorStateAnnotation } from "../api/annotations.ts";
import { secondsBetween } from "../util/duration.ts";
import type { FailoverStatus } from "../api/failover/failover-policy.ts";
import type { EventText } from "../kube/events/event-correlator.ts";

type Transition = NonNullable<FailoverStatus["transition"]>;

interface StepDone {
  readonly name: string;
  readonly seconds: number;
}

export interface StatusChanges {
  readonly events: readonly EventText[];
  readonly steps: readonly StepDone[];
  readonly volumes?: { readonly mode: Transition["mode"]; readonly seconds: number };
  readonly completed?: Pick<Transition, "to" | "mode"> & { readonly seconds: number };
}

export function statusChanges(before: FailoverStatus | undefined, after: FailoverStatus): StatusChanges {
  const [was, is] = [before?.transition, after.transition];
  const isNew = is !== undefined && (was?.startTime !== is.startTime || was.to !== is.to);
  const events: EventText[] = [];
  if (isNew && was && was.completionTime === undefined) {
    events.push({ type: "Normal", reason: "FailoverSuperseded", message: `Switch to ${was.to} superseded by a newer request` });
  }
  if (isNew) events.push({ type: "Normal", reason: "FailoverStarted", message: `Switching to ${is.to} in ${is.mode} mode` });
  if (is?.forced !== undefined && (isNew || was?.forced === undefined)) {
    events.push({ type: "Warning", reason: "FailoverForced", message: `Took over without the other site's release: ${is.forced}` });
  }
  const steps = is ? stepsDone(isNew ? undefined : was, is) : [];
  for (const { name, seconds } of steps) events.push({ type: "Normal", reason: name, message: `${name} is done after ${seconds} s` });
  events.push(
    ...leftStoppedEvents(before, after),
    ...(isNew ? [] : startedEvents(before, after)),
    ...errorEvents(before, after),
    ...readyEvents(before, after),
  );
  const volumes = is ? volumesWritable(isNew ? undefined : was, is) : {};
  if (is?.completionTime === undefined || (!isNew && was?.completionTime !== undefined)) return { events, steps, ...volumes };
  const seconds = secondsBetween(is.startTime, is.completionTime);
  events.push({ type: "Normal", reason: "FailoverCompleted", message: `This site is ${is.to}; the switch took ${seconds} s` });
  return { events, steps, ...volumes, completed: { to: is.to, mode: is.mode, seconds } };
}

function volumesWritable(
  was: Transition | undefined,
  { mode, startTime, volumesWritableTime }: Transition,
): Pick<StatusChanges, "volumes"> {
  if (volumesWritableTime === undefined || was?.volumesWritableTime !== undefined) return {};
  return { volumes: { mode, seconds: secondsBetween(startTime, volumesWritableTime) } };
}

function stepsDone(was: Transition | undefined, is: Transition): StepDone[] {
  const before = new Set(was?.steps.filter(({ state }) => state === "Done").map(({ name }) => name));
  return is.steps
    .filter(({ name, state }) => state === "Done" && !before.has(name))
    .map(({ name, startTime, completionTime }) => ({ name, seconds: secondsBetween(startTime, completionTime) ?? 0 }));
}

/** Stopped resources that were removed from the policy. They stay stopped. */
function leftStoppedEvents(before: FailoverStatus | undefined, after: FailoverStatus): EventText[] {
  const named = new Set(resourcesOf(after).map(({ resource }) => resource));
  const [first, ...others] = resourcesOf(before).filter(({ resource, state }) => !named.has(resource) && STOPPED.has(state));
  if (!first) return [];
  const what = `${first.resource} (${first.state})${others.length > 0 ? ` and ${others.length} more are` : " is"}`;
  const message = `${what} no longer in the policy and stays stopped; annotation ${priorStateAnnotation} has its prior state`;
  return [{ type: "Warning", reason: "ResourceLeftStopped", message }];
}

/** Resources that were stopped for the switch and run again: an operator, a parent of Flux or a person started them. */
function startedEvents(before: FailoverStatus | undefined, after: FailoverStatus): EventText[] {
  if (after.transition?.to !== "secondary") return [];
  const stopped = new Set(resourcesOf(before).flatMap(({ resource, state }) => (STOPPED.has(state) ? resource : [])));
  const [first, ...others] = resourcesOf(after).filter(({ resource, state }) => stopped.has(resource) && STARTED.has(state));
  if (!first) return [];
  const what = `${first.resource} was stopped and is ${first.state} again${others.length > 0 ? `, and ${others.length} more` : ""}`;
  return [{ type: "Warning", reason: "Drifted", message: `${what}; another controller or person keeps starting it: stop that first` }];
}

const STARTED = new Set(["Active", "Primary"]);
const STOPPED = new Set(["Scaled Down", "Scaling Down", "Suspended", "Secondary", "Ignored"]);

function resourcesOf({ volumeReplicationStatuses = [], workloadStatuses = [] }: FailoverStatus = {}): {
  resource: string;
  state: string;
}[] {
  const volumes = volumeReplicationStatuses.map((volume) => ({ kind: "VolumeReplication", ...volume }));
  return [...volumes, ...workloadStatuses].map(({ kind, namespace = "", name, state = "" }) => ({
    resource: `${kind} ${namespace}/${name}`,
    state,
  }));
}

/** An error is an Event when it appears and when it changes. */
function errorEvents(before: FailoverStatus | undefined, after: FailoverStatus): EventText[] {
  const [was, is] = [conditionOf(before, "Error"), conditionOf(after, "Error")];
  if (is?.status !== "True" || (was?.status === "True" && was.reason === is.reason && was.message === is.message)) return [];
  return [{ type: "Warning", reason: is.reason, message: is.message }];
}

/** An Event, so that it is noticed before a switch. During a switch readiness is not evaluated. */
function readyEvents(before: FailoverStatus | undefined, after: FailoverStatus): EventText[] {
  const [was, is] = [conditionOf(before, "Ready"), conditionOf(after, "Ready")];
  if (is?.status === "True" && was?.status === "False")
    return [{ type: "Normal", reason: "Ready", message: "The site can be switched again" }];
  if (is?.status !== "False" || (was?.status === "False" && was.reason === is.reason)) return [];
  return [{ type: "Warning", reason: "NotReady", message: `The site cannot be switched: ${is.message}` }];
}

function conditionOf(status: FailoverStatus | undefined, wanted: string) {
  return status?.conditions?.find(({ type }) => type === wanted);
}
