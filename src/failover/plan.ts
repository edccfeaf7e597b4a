import { MANAGED_KINDS } from "../api/failover/policy-fields.ts";
import { argoStates, missingApplications, templatedApplications } from "./steps/argo.ts";
import { notAvailable, withAvailability } from "./steps/availability.ts";
import { cronJobStates } from "./steps/cron-jobs.ts";
import { currentState } from "./steps/current-state.ts";
import { foreignNamespaces, hasBegun, unpermitted, unpermittedFence } from "./consent.ts";
import { dnsStates } from "./steps/dns.ts";
import { fenceProblems, fencing } from "./steps/fence.ts";
import { fluxStates } from "./steps/flux.ts";
import { readFailure, readResources, waitOf } from "./steps/resources.ts";
import { isComplete, managedBy, modeOf } from "./policy/managed.ts";
import { ownedVolumes, ownerNotes, unnamedOwners } from "./steps/owned.ts";
import type { ObservedPolicy } from "./observe/observed.ts";
import { type KnownOfPolicy, observePolicy, type ResourceReader } from "./observe/reader.ts";
import type { ServedKinds } from "./observe/served-kinds.ts";
import { ignoredForce, invalidPeer, removedPeer, restored, splits } from "./peer-failures.ts";
import { priorStates, unreadablePriors } from "./steps/prior-states.ts";
import { readiness } from "./readiness.ts";
import type { SwitchPlan, ResourceState, SwitchStep } from "./steps/step.ts";
import { revertFailure } from "./policy/switch-record.ts";
import { toPrimary, unsharedPromotions } from "./steps/to-primary.ts";
import { toSecondary, writesStopped } from "./steps/to-secondary.ts";
import { decideToken, fenceAnnotationOf, forgetsToken, hasToken, isForced, type TokenDecision, type TokenInput } from "./token/token.ts";
import {
  areDemoted,
  arePromoted,
  driftedVolumes,
  failedVolumes,
  promoteVolumes,
  receivingVolumes,
  uncopiedVolumes,
  unpromotableVolumes,
  unsharedVolumes,
  volumeStates,
} from "./steps/volumes.ts";
import { unusableGroups } from "./steps/volume-groups.ts";
import { deletingStatefulSets, workloadStates } from "./steps/workloads.ts";
import { type PolicyFailure, resourceFailure } from "./policy/failure.ts";

const WAITING_MS = 5_000;
const RESTING_MS = 20_000;

export function tokenFacts(observed: ObservedPolicy): Omit<TokenInput, "policy" | "mode" | "peer"> {
  return {
    demoted: areDemoted(observed, fenceAnnotationOf(observed.policy)),
    writesStopped: writesStopped(observed),
    copied: uncopiedVolumes(observed).length === 0,
    promoted: arePromoted(observed),
    blockers: [...unpromotableVolumes(observed), ...unsharedVolumes(observed).map(waitOf)],
  };
}

export function planFrom(reader: ResourceReader, served: ServedKinds, known: KnownOfPolicy): SwitchPlan {
  const { policy, peer } = known;
  const observed = observePolicy(reader, served, known);
  return plan(observed, peer && decideToken({ policy, mode: modeOf(policy.spec) ?? "safe", ...tokenFacts(observed), peer }));
}

/** With `spec.peer` nothing is started without a token decision. */
export function plan(observed: ObservedPolicy, token?: TokenDecision): SwitchPlan {
  const { policy } = observed;
  const mode = modeOf(policy.spec) ?? "safe";
  const { problems } = managedBy(policy);
  const to = token?.mustDemote || policy.spec.desiredState !== "primary" ? "secondary" : "primary";

  // A running switch is not left half-way, and an outranked site must stop.
  const mayReject = !token?.mustDemote && !hasBegun(policy, to);
  const blockers = ownerBlockers(observed, to);
  const foreign = [...unpermitted(observed), ...(to === "primary" ? unpermittedFence(observed) : [])];
  const isPromoting = to === "primary" && !isComplete(policy, to) && promoteVolumes(observed, mode).writes.length > 0;
  const fence = to === "primary" && problems.length === 0 ? fencing(observed, token, isPromoting) : undefined;
  // A group that became unusable does not keep the workloads of an outranked site running.
  const blocking = Object.groupBy(blockersOf(observed, to), ({ kind }) =>
    token?.mustDemote && kind === "VolumeGroupReplication" ? "reported" : "rejected",
  );
  const wrongPeer = invalidPeer(observed);
  // A force means that the other site cannot be read, and a site that holds the token has taken over.
  const holdsToken = to === "primary" && policy.status?.token?.state === "Held";
  const rejectsPeer = mayReject && !isForced(policy) && !holdsToken;
  const rejections = [
    ...problems,
    ...(rejectsPeer ? wrongPeer : []),
    // Also at rest: its data may be old. What it must stop is still stopped.
    ...(to === "primary" && !isForced(policy) ? restored(observed) : []),
    ...(blocking.rejected ?? []),
    ...(mayReject ? [...blockers, ...foreign] : []),
    ...(fence?.rejections ?? []),
  ];
  const drafted = problems.length > 0 ? [] : stepsOf(observed, { to, mode, token, fence: fence?.step });
  const steps = rejections.length > 0 ? drafted.map(withheld) : drafted;
  const isAwaited = steps.some(({ name, state }) => name === "AwaitWorkloads" && state === "Wait");
  const prior = priorStates(observed, steps);
  const failures = [
    ...splits(observed, token),
    ...(to === "primary" ? ignoredForce(policy) : []),
    ...failuresOf(observed, to),
    ...(blocking.reported ?? []),
    ...(mayReject ? [] : blockers),
    ...(fence?.failures ?? []),
    ...(to === "primary" ? prior.lost : []),
    ...(isAwaited ? notAvailable(observed) : []),
  ];
  // The site is in the role that a person wants: a different role in Git is an error of the owner, and the switch is complete.
  const reverts = observed.revert ? [revertFailure(policy, observed.revert)] : [];
  // A complete switch stays complete if the peer fails afterwards.
  const peerFailures = rejectsPeer ? [] : wrongPeer;
  const isDone = steps.every(({ state }) => state === "Done");
  const complete = isDone && rejections.length === 0 && failures.length === 0;
  const forced = token?.forced ?? (to === "primary" ? forcedAlone(observed) : undefined);
  const ready = readiness(observed, { to, steps, rejections, failures }, [...obstacles(observed, to), ...prior.lost]);
  const requeueAfterMs = sooner(requeue({ to, rejections, isDone, complete }), ready.recheckAfterMs);

  return {
    to,
    mode,
    rejections,
    // A forced takeover expects that the peer does not work: other failures come first.
    failures: [...reverts, ...failures, ...peerFailures],
    notes: ownerNotes(observed),
    steps,
    resources: withNotes(to === "primary" ? withAvailability(observed, statesOf(observed, to)) : statesOf(observed, to), [
      ...prior.lost,
      ...(rejections.length > 0
        ? []
        : foreign.map(({ message, ...failure }) => Object.assign(failure, { message: `The next switch will be rejected: ${message}` }))),
    ]),
    foreignNamespaces: foreignNamespaces(observed),
    currentState: currentState(observed),
    complete,
    writesStopped: writesStopped(observed),
    priorStates: problems.length > 0 ? (policy.status?.priorStates ?? []) : prior.states,
    ...(fence && { fence: fence.status }),
    ready,
    ...(forced !== undefined && { forced }),
    ...(requeueAfterMs !== undefined && { requeueAfterMs }),
  };
}

export function blockedFor(made: SwitchPlan, reasons: readonly PolicyFailure[]): SwitchPlan {
  const rejections = [...made.rejections, ...reasons];
  return { ...made, rejections, steps: made.steps.map(withheld), complete: false, requeueAfterMs: WAITING_MS };
}

interface Course {
  readonly to: SwitchPlan["to"];
  readonly mode: SwitchPlan["mode"];
  readonly token: TokenDecision | undefined;
  readonly fence: SwitchStep | undefined;
}

function stepsOf(observed: ObservedPolicy, { to, mode, token, fence }: Course): SwitchStep[] {
  if (forgetsToken(observed.policy)) return [{ name: "ForgetToken", state: "Act", writes: [], token: null, waits: [] }];
  return to === "secondary" ? toSecondary(observed, mode, token) : toPrimary(observed, mode, token, fence);
}

/** What rejects a switch to this role, wanted now or not. */
function blockersOf(observed: ObservedPolicy, to: SwitchPlan["to"]): PolicyFailure[] {
  return [
    ...(to === "primary" ? removedPeer(observed.policy) : []),
    ...contests(observed),
    ...unusableGroups(observed),
    ...(to === "secondary" ? deletingStatefulSets(observed) : []),
  ];
}

/** What would reject a switch to the other role. */
function obstacles(observed: ObservedPolicy, from: SwitchPlan["to"]): PolicyFailure[] {
  const to = from === "primary" ? "secondary" : "primary";
  return [
    ...blockersOf(observed, to),
    ...ownerBlockers(observed, to),
    ...unnamedOwners(observed),
    ...unpermitted(observed),
    ...unpermittedFence(observed),
    ...unsharedVolumes(observed),
    ...fenceProblems(observed),
  ];
}

/** Changes that GitOps would revert, or owners that are missing. */
function ownerBlockers(observed: ObservedPolicy, to: SwitchPlan["to"]): PolicyFailure[] {
  return [...missingApplications(observed), ...templatedApplications(observed), ...ownedVolumes(observed, to)];
}

function sooner(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

function withNotes(states: readonly ResourceState[], notes: readonly PolicyFailure[]): ResourceState[] {
  const byObject = new Map(notes.map((failure) => [`${failure.kind} ${failure.namespace}/${failure.name}`, failure.message]));
  return states.map((state) => {
    const message = byObject.get(`${state.resource.kind} ${state.resource.namespace}/${state.resource.name}`);
    return message === undefined || state.error !== undefined ? state : { ...state, message };
  });
}

/** As the spec's diagrams: 5 s while something is waited for, 20 s at rest as a secondary, never at rest as a primary. */
function requeue({
  to,
  rejections,
  isDone,
  complete,
}: Pick<SwitchPlan, "to" | "rejections" | "complete"> & { isDone: boolean }): number | undefined {
  // An invalid policy needs a change of the policy.
  if (rejections.length > 0) return rejections.every(({ reason }) => reason === "Invalid") ? undefined : RESTING_MS;
  if (!isDone) return WAITING_MS;
  return to === "primary" && complete ? undefined : RESTING_MS;
}

function withheld(step: SwitchStep): SwitchStep {
  return step.state === "Act" ? { ...step, state: "Pending" } : step;
}

function contests({ contested }: ObservedPolicy): PolicyFailure[] {
  return contested.map(({ resource, holder }) => {
    const title = `${resource.kind} ${resource.namespace}/${resource.name}`;
    const message = `${title} is switched by FailoverPolicy ${holder}, which claimed it first; remove it from one of the two policies`;
    return resourceFailure(resource, "Conflict", message);
  });
}

/** Without a token: the reason for promoting volumes that another site still replicates to. */
function forcedAlone(observed: ObservedPolicy): string | undefined {
  const { policy } = observed;
  if (hasToken(policy) || !isForced(policy) || isComplete(policy)) return undefined;
  return receivingVolumes(observed).length > 0 ? policy.spec.force?.reason : undefined;
}

function failuresOf(observed: ObservedPolicy, to: SwitchPlan["to"]): PolicyFailure[] {
  const unfound = readResources(observed, MANAGED_KINDS)
    .filter(({ resource, result }) => resource.kind !== "Application" || !("absent" in result) || result.absent !== "object")
    .flatMap((read) => readFailure(read) ?? []);
  const drifted = to === "primary" && isComplete(observed.policy, to) ? driftedVolumes(observed) : [];
  const forgotten = to === "primary" ? unreadablePriors(observed) : [];
  const unshared =
    to === "primary" && !isComplete(observed.policy, to) && modeOf(observed.policy.spec) !== "unsafe" ? unsharedPromotions(observed) : [];
  return [...unfound, ...failedVolumes(observed, to), ...drifted, ...unshared, ...forgotten];
}

/** In the order of the policy. */
function statesOf(observed: ObservedPolicy, to: SwitchPlan["to"]): ResourceState[] {
  const states = [
    ...volumeStates(observed, to),
    ...workloadStates(observed, to),
    ...cronJobStates(observed, to),
    ...fluxStates(observed, to),
    ...argoStates(observed, to),
    ...dnsStates(observed),
  ];
  const byResource = new Map(states.map((state) => [state.resource, state]));
  return observed.managed.flatMap((resource) => byResource.get(resource) ?? []);
}
