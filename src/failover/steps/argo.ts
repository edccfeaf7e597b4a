import { epochAnnotation, priorStateAnnotation } from "../../api/annotations.ts";
import type { Role } from "../../api/failover/failover-policy.ts";
import type { Kind, KubeObject } from "../../api/kind.ts";
import type { Application, ApplicationSet, Automated } from "../observe/external-kinds.ts";
import {
  kindAndName,
  change,
  foundResources,
  itemsOf,
  stampOnly,
  readResources,
  missingState,
  unreadable,
  waitFor,
  type ResourceRead,
} from "./resources.ts";
import { readPrior, priorAnnotation, stamp } from "./prior-annotation.ts";
import type { ObservedPolicy } from "../observe/observed.ts";
import { isNamed, ownersOf } from "../policy/owners.ts";
import { hasToken } from "../token/token.ts";
import type { Managed } from "../policy/managed.ts";
import { type PolicyFailure, resourceFailure, type Wait } from "../policy/failure.ts";
import type { ResourceState, PlannedWrite, StepInput } from "./step.ts";

const KIND = ["Application"] as const;

/** Argo CD removes it after comparing, on the object that had it: so it has seen what was written with it. */
const REFRESH = "argocd.argoproj.io/refresh";
const SKIP = "argocd.argoproj.io/skip-reconcile";
const REFRESHING = { [REFRESH]: "normal" };
/** JSON pointers and jq paths that cover automated sync. */
const AUTOMATED = new Set([
  "/spec",
  "/spec/syncPolicy",
  "/spec/syncPolicy/automated",
  ".spec",
  ".spec.syncPolicy",
  ".spec.syncPolicy.automated",
]);

/**
 * `enabled: false` keeps the other values, but Argo CD before 3.1 drops it silently. If it is gone, `automated` is removed: its prior value
 * was saved with the first write.
 */
export function suspendArgo(observed: ObservedPolicy, fence: string | undefined): StepInput {
  const kind = observed.kindOf("Application");
  const writes = foundResources(observed, KIND).flatMap(({ object }) => {
    const name = kindAndName("Application", object);
    const automated = object.spec.syncPolicy?.automated;
    if (!automated || automated.enabled === false) return stampOnly(kind, object, fence, name);
    const isTried = readPrior(object, "automated").is === "there";
    const annotations = { ...priorAnnotation(observed.policy, object, "automated", automated), ...stamp(fence), ...REFRESHING };
    const next = isTried ? null : { enabled: false };
    const description = isTried ? `remove automated sync of ${name}` : `turn automated sync of ${name} off`;
    return [change(kind, object, annotations, { syncPolicy: { automated: next } }, description)];
  });
  return { writes, waits: unreadable(observed, KIND) };
}

/** A running sync completes, and one more may start that was decided before our write. */
export function busyArgo(observed: ObservedPolicy): Wait[] {
  return foundResources(observed, KIND).flatMap(({ resource, object }) => {
    const left = whatRuns(object);
    return left === undefined ? [] : [waitFor(resource, `${kindAndName("Application", object)} ${left}`)];
  });
}

/** Restored exactly. Argo CD does not sync a revision twice without selfHeal, nor a failed one even with it: then one sync is requested. */
export function resumeArgo(observed: ObservedPolicy): StepInput {
  const kind = observed.kindOf("Application");
  const writes = foundResources(observed, KIND).flatMap(({ object }) => {
    const memory = readPrior(object, "automated");
    return memory.is === "there" ? [resume(kind, object, memory.prior)] : [];
  });
  const unanswered = foundResources(observed, KIND).flatMap(({ resource, object }) => {
    const left = isOn(object) ? whatRuns(object) : undefined;
    return left === undefined ? [] : [waitFor(resource, `${kindAndName("Application", object)} ${left}`)];
  });
  return { writes, waits: [...unreadable(observed, KIND), ...unanswered] };
}

function resume(kind: Kind | undefined, object: Application, prior: Automated): PlannedWrite {
  const { automated: present = {}, syncOptions } = object.spec.syncPolicy ?? {};
  // A merge patch keeps other fields: those that were not there before are removed by name.
  const added = Object.keys(present).filter((field) => !Object.hasOwn(prior, field));
  const automated = { ...Object.fromEntries(added.map((field) => [field, null])), ...prior };
  const starts = !object.operation && (prior.selfHeal !== true || hasFailed(object));
  const sync = { ...(prior.prune !== undefined && { prune: prior.prune }), ...(syncOptions && { syncOptions }) };
  const description = `turn automated sync of ${kindAndName("Application", object)} on again${starts ? " and start a sync" : ""}`;
  const write = change(kind, object, { [priorStateAnnotation]: null, ...REFRESHING }, { syncPolicy: { automated } }, description);
  const operation = { initiatedBy: { username: "plumbline-failover" }, sync };
  return starts ? { ...write, patch: { ...write.patch, operation } } : write;
}

/** The Applications of the policy that apply this object. */
export function ownersInArgo(observed: ObservedPolicy, kind: string, object: KubeObject): ResourceRead<"Application">[] {
  const owners = ownersOf(kind, object, observed.managed).filter((owner) => owner.kind === "Application");
  return readResources(observed, KIND).filter(({ resource }) => owners.some((owner) => isNamed(owner, [resource])));
}

/** Whether it has synced after it was resumed; one that is missing, or that a person disabled, never will. */
export function isSynced({ result }: ResourceRead<"Application">): boolean {
  if ("error" in result) return false;
  if ("absent" in result) return true;
  return readPrior(result.found, "automated").is !== "there" && (!isOn(result.found) || whatRuns(result.found) === undefined);
}

export function argoStates(observed: ObservedPolicy, to: Role): ResourceState[] {
  return readResources(observed, KIND).map((read) => {
    const { resource, result } = read;
    return missingState(read) ?? ("found" in result ? stateOf(resource, result.found, to) : { resource, state: "Unknown" });
  });
}

function stateOf(resource: Managed, object: Application, to: Role): ResourceState {
  const isRemembered = object.metadata.annotations?.[priorStateAnnotation] !== undefined;
  if (!isOn(object)) {
    return {
      resource,
      state: "Suspended",
      ...(to === "primary" && !isRemembered && { message: "Left without automated sync: it had none before" }),
    };
  }
  const message = "Automated sync was enabled by another controller or person; disabling it again";
  return { resource, state: "Active", ...(to === "secondary" && isRemembered && { message }) };
}

/** A missing Application cannot be skipped: what it applies would be switched without it. */
export function missingApplications(observed: ObservedPolicy): PolicyFailure[] {
  return readResources(observed, KIND).flatMap(({ resource, result }) => {
    if (!("absent" in result) || result.absent !== "object") return [];
    const message = `Application ${resource.namespace}/${resource.name} does not exist; create it, correct its name or namespace, or remove it from the policy`;
    return [resourceFailure(resource, "NotFound", message)];
  });
}

/** An ApplicationSet restores the template of its Applications and removes unknown annotations. It cannot be suspended. */
export function templatedApplications(observed: ObservedPolicy): PolicyFailure[] {
  return foundResources(observed, KIND).flatMap(({ resource, object }) => {
    const owner = object.metadata.ownerReferences?.find(({ kind }) => kind === "ApplicationSet");
    if (!owner) return [];
    const { items, waits } = itemsOf(observed.applicationSets(resource.namespace), "ApplicationSet", resource.namespace);
    const [unread] = waits;
    const title = `Application ${resource.namespace}/${resource.name} is made by ApplicationSet ${owner.name}`;
    if (unread) return [resourceFailure(resource, "Refused", `${title}, and ${unread.message}`)];
    const template = items.find(({ metadata }) => metadata.name === owner.name);
    const kept = hasToken(observed.policy) ? [priorStateAnnotation, epochAnnotation] : [priorStateAnnotation];
    if (!template || leaves(template, resource.name, kept)) return [];
    const fix = `set spec.ignoreApplicationDifferences with jsonPointers [/spec/syncPolicy] and spec.preservedFields.annotations [${kept.join(", ")}] there`;
    return [resourceFailure(resource, "Refused", `${title}, which would turn automated sync on again; ${fix}`)];
  });
}

function leaves({ spec }: ApplicationSet, application: string, annotations: readonly string[]): boolean {
  if (["create-only", "create-delete"].includes(spec.syncPolicy?.applicationsSync ?? "")) return true;
  const isIgnored = (spec.ignoreApplicationDifferences ?? []).some(
    ({ name = application, jsonPointers = [], jqPathExpressions = [] }) =>
      name === application && (jsonPointers.some((one) => AUTOMATED.has(one)) || jqPathExpressions.some((one) => AUTOMATED.has(one))),
  );
  const { annotations: preserved = [] } = spec.preservedFields ?? {};
  return isIgnored && annotations.every((one) => preserved.includes(one));
}

/** Whether the Application ignores `spec.replicationState` of this volume. Argo CD has no annotation for that on the object itself. */
export function ignoresVolume({ spec }: Application, kind: string, { metadata: { namespace = "", name } }: KubeObject): boolean {
  const ignored = (spec.ignoreDifferences ?? []).some(
    (one) =>
      one.group === "replication.storage.openshift.io" &&
      one.kind === kind &&
      (one.name ?? name) === name &&
      (one.namespace ?? namespace) === namespace &&
      (one.jsonPointers?.includes("/spec/replicationState") === true || one.jqPathExpressions?.includes(".spec.replicationState") === true),
  );
  return ignored && spec.syncPolicy?.syncOptions?.includes("RespectIgnoreDifferences=true") === true;
}

/** Health says nothing of it: what a failed sync did not apply is Healthy as it was. One that a person starts by hand is theirs. */
export function failedSync(object: Application): string | undefined {
  if (!isOn(object) || whatRuns(object) !== undefined || !hasFailed(object) || isSyncedSince(object)) return undefined;
  const { message = "" } = object.status?.operationState ?? {};
  return `Application sync failed${message === "" ? "" : `: ${message}`}`;
}

function hasFailed({ status }: Application): boolean {
  const { phase = "" } = status?.operationState ?? {};
  return phase === "Failed" || phase === "Error";
}

/** Everything was applied nevertheless: a hook failed, or a person repaired it. Both times are of Argo CD's clock, in seconds. */
function isSyncedSince({ status }: Application): boolean {
  const { operationState, sync, reconciledAt = "" } = status ?? {};
  return sync?.status === "Synced" && Date.parse(reconciledAt) >= Date.parse(operationState?.finishedAt ?? "");
}

function isOn({ spec }: Application): boolean {
  const automated = spec.syncPolicy?.automated;
  return automated !== undefined && automated.enabled !== false;
}

function whatRuns({ metadata: { annotations = {} }, operation, status }: Application): string | undefined {
  const { phase = "", message = "" } = status?.operationState ?? {};
  if (operation || phase === "Running" || phase === "Terminating") {
    return `carries out a sync${message === "" ? "" : `: ${message}`}`;
  }
  if (annotations[REFRESH] === undefined) return undefined;
  return annotations[SKIP] === "true"
    ? `is not reconciled by Argo CD: remove annotation ${SKIP}`
    : `has not been refreshed by Argo CD since it was changed`;
}
