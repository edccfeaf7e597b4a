import { MANAGED_KINDS } from "../api/failover/failover-policy.ts";
import { keyOf } from "../api/kind.ts";
import { autoscalersOf } from "./planning/autoscalers.ts";
import { notAvailable, withAvailability } from "./planning/availability.ts";
import { cronJobStates, jobsOf } from "./planning/cron-jobs.ts";
import { currentState } from "./planning/current-state.ts";
import { dnsStates } from "./dns.ts";
import { fenceHindrances, fencing } from "./fence.ts";
import { fluxStates } from "./flux.ts";
import { found, lookFailure, sightings } from "./planning/looking.ts";
import { atRest, managedBy, modeOf } from "./managed.ts";
import { PRIOR, recall } from "./planning/memory.ts";
import type { Observed } from "./observed.ts";
import { priorStates } from "./planning/prior-states.ts";
import { readiness } from "./readiness.ts";
import type { Plan, PolicyFailure, ResourceState, Step } from "./step.ts";
import { toPrimary } from "./planning/to-primary.ts";
import { toSecondary, writesStopped } from "./planning/to-secondary.ts";
import { fenceOf, type TokenDecision, type TokenSight } from "./token/token.ts";
import { areDemoted, degradedVolumes, driftedVolumes, failedVolumes, groupVolumes, promoteVolumes, volumeStates } from "./volumes.ts";
import { deletingStatefulSets, workloadStates } from "./workloads.ts";

const WAITING_MS = 5_000;
const RESTING_MS = 20_000;

/** What a token decision rests on, of what was seen of the resources. */
export function tokenFacts(observed: Observed): Pick<TokenSight, "demoted" | "writesStopped" | "degraded"> {
  return {
    demoted: areDemoted(observed, fenceOf(observed.policy)),
    writesStopped: writesStopped(observed),
    degraded: degradedVolumes(observed),
  };
}

/** What has to be done, in its order, what it waits for, and what is in the way. With `spec.peer` nothing is started without a token decision. */
export function plan(observed: Observed, token?: TokenDecision): Plan {
  const { policy } = observed;
  const mode = modeOf(policy.spec) ?? "safe";
  const { problems } = managedBy(policy);
  const to = token?.mustDemote || policy.spec.desiredState !== "primary" ? "secondary" : "primary";

  const isPromoting = to === "primary" && !atRest(policy, to) && promoteVolumes(observed).writes.length > 0;
  const fence = to === "primary" && problems.length === 0 ? fencing(observed, token, isPromoting) : undefined;
  const refusals = [...problems, ...refusalsOf(observed, to), ...(fence?.refusals ?? [])];
  const drafted = problems.length > 0 ? [] : to === "secondary" ? toSecondary(observed, mode, token) : toPrimary(observed, mode, token);
  const steps = refusals.length > 0 ? drafted.map(withheld) : drafted;
  const isAwaited = steps.some(({ name, state }) => name === "AwaitWorkloads" && state === "Wait");
  const prior = priorStates(observed, steps);
  const lost = to === "primary" ? prior.lost : [];
  const late = isAwaited ? notAvailable(observed) : [];
  const failures = [...splits(observed, token), ...failuresOf(observed, to), ...(fence?.failures ?? []), ...lost, ...late];
  const isDone = steps.every(({ state }) => state === "Done");
  const complete = isDone && refusals.length === 0 && failures.length === 0;
  const hindrances = [...refusalsOf(observed, to === "primary" ? "secondary" : "primary"), ...prior.lost, ...fenceHindrances(observed)];
  const ready = readiness(observed, { to, steps, refusals, failures }, hindrances);
  const requeueAfterMs = sooner(requeue({ to, refusals, isDone, complete }), ready.recheckAfterMs);

  return {
    to,
    mode,
    refusals,
    failures,
    steps,
    resources: withNotes(to === "primary" ? withAvailability(observed, statesOf(observed, to)) : statesOf(observed, to), prior.lost),
    currentState: currentState(observed),
    complete,
    writesStopped: writesStopped(observed),
    priorStates: problems.length > 0 ? (policy.status?.priorStates ?? []) : prior.states,
    ...(fence && { fence: fence.status }),
    ready,
    ...(token?.forced !== undefined && { forced: token.forced }),
    ...(requeueAfterMs !== undefined && { requeueAfterMs }),
  };
}

/** What refuses a switch to this role, whether it is wanted now or not. */
function refusalsOf(observed: Observed, to: Plan["to"]): PolicyFailure[] {
  return [...contests(observed), ...groupVolumes(observed), ...(to === "secondary" ? deletingStatefulSets(observed) : [])];
}

function sooner(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

/** The states of resources whose prior state is lost say that, and not that nothing was there before. */
function withNotes(states: readonly ResourceState[], lost: readonly PolicyFailure[]): ResourceState[] {
  const byObject = new Map(lost.map((failure) => [`${failure.kind} ${failure.namespace}/${failure.name}`, failure.message]));
  return states.map((state) => {
    const message = byObject.get(`${state.resource.kind} ${state.resource.namespace}/${state.resource.name}`);
    return message === undefined ? state : { ...state, message };
  });
}

/** As the spec's diagrams: 5 s while something is waited for, 20 s at rest as a secondary, never at rest as a primary. */
function requeue({ to, refusals, isDone, complete }: Pick<Plan, "to" | "refusals" | "complete"> & { isDone: boolean }): number | undefined {
  // What is wrong with the policy itself only a change of the policy mends.
  if (refusals.length > 0) return refusals.every(({ reason }) => reason === "Invalid") ? undefined : RESTING_MS;
  if (!isDone) return WAITING_MS;
  return to === "primary" && complete ? undefined : RESTING_MS;
}

function withheld(step: Step): Step {
  return step.state === "Act" ? { ...step, state: "Pending" } : step;
}

function contests({ contested }: Observed): PolicyFailure[] {
  return contested.map(({ resource: { kind, namespace, name, field }, holder }) => {
    const message = `${kind} ${namespace}/${name} is switched by FailoverPolicy ${holder}, which asked for it first`;
    return { kind, namespace, name, field, reason: "Contested", message, class: "Permanent" };
  });
}

/** This site was outranked: until it is a secondary, whatever is wanted has to wait. */
function splits({ policy, peer }: Observed, token: TokenDecision | undefined): PolicyFailure[] {
  if (!token?.mustDemote) return [];
  const held = peer?.reachable && peer.exists && peer.token?.state === "Held" ? ` holds epoch ${peer.token.epoch}` : " may write";
  const message = `The other site${held}; this site is made a secondary before anything else`;
  const { name, namespace } = policy.metadata;
  return [
    { kind: "FailoverPolicy", ...(namespace === undefined ? {} : { namespace }), name, reason: "Split", message, class: "Transient" },
  ];
}

function failuresOf(observed: Observed, to: Plan["to"]): PolicyFailure[] {
  const unfound = sightings(observed, MANAGED_KINDS).flatMap((sighting) => lookFailure(sighting) ?? []);
  const drifted = to === "primary" && atRest(observed.policy, to) ? driftedVolumes(observed) : [];
  const forgotten = to === "primary" ? unreadable(observed) : [];
  return [...unfound, ...failedVolumes(observed, to), ...drifted, ...forgotten];
}

/** Objects of which nobody can say any more what they were. */
function unreadable(observed: Observed): PolicyFailure[] {
  const { autoscalers, scaledObjects } = autoscalersOf(observed);
  const named = found(observed, ["Deployment", "StatefulSet", "CronJob", "HelmRelease", "Kustomization"]).map(({ resource, object }) => ({
    kind: resource.kind,
    object,
    memory: recall(object, resource.kind === "Deployment" || resource.kind === "StatefulSet" ? "replicas" : "suspend"),
  }));
  const around = [
    ...jobsOf(observed).items.map((object) => ({ kind: "Job", object, memory: recall(object, "suspend") })),
    ...autoscalers.map((object) => ({ kind: "HorizontalPodAutoscaler", object, memory: recall(object, "selectPolicy") })),
    ...scaledObjects.map((object) => ({ kind: "ScaledObject", object, memory: recall(object, "pausedReplicas") })),
  ];
  return [...named, ...around]
    .filter(({ memory }) => memory.is === "unreadable")
    .map(({ kind, object }) => {
      const { namespace = "", name } = object.metadata;
      const known = observed.policy.status?.priorStates?.find(
        (state) => state.kind === kind && state.name === name && (state.namespace ?? "") === namespace,
      );
      const was = known ? `; before the switch ${known.field} was ${known.value}` : "";
      const message = `Annotation ${PRIOR} of ${kind} ${keyOf(object)} cannot be read${was}; restore the ${kind} by hand and remove the annotation`;
      return { kind, namespace, name, reason: "Invalid", message, class: "Permanent" };
    });
}

/** In the order of the policy. */
function statesOf(observed: Observed, to: Plan["to"]): ResourceState[] {
  const states = [
    ...volumeStates(observed, to),
    ...workloadStates(observed, to),
    ...cronJobStates(observed, to),
    ...fluxStates(observed, to),
    ...dnsStates(observed),
  ];
  const byResource = new Map(states.map((state) => [state.resource, state]));
  return observed.managed.flatMap((resource) => byResource.get(resource) ?? []);
}
