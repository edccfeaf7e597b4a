import type { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import type { Impairment } from "../../kube/cache/unreadable-kinds.ts";
import { nodeAnnotation } from "../../kube/members/agent-lease.ts";
import type { ConditionReport } from "../../kube/status/conditions.ts";
import type { Picture } from "../../kube/status/plan.ts";
import { cut, fitting } from "../../kube/status/limits.ts";
import type { Failure } from "../../resilience/failure.ts";
import type { Loaded } from "../config/load.ts";
import { labelValue, prefixedName } from "./names.ts";

/** Who has looked at the configuration. */
export type Component = { readonly type: "controller" } | { readonly type: "speaker"; readonly node: string; readonly nodeUid?: string };

/** What it found. */
export interface Finding {
  readonly failures: readonly (Failure & { readonly generation?: number })[];
  readonly resources: Loaded["resources"];
  /** Those that it could not judge. */
  readonly unread?: Loaded["unread"];
}

type Status = NonNullable<ConfigurationState["status"]>;
type StatusReport = Omit<Status, "conditions"> & { conditions: ConditionReport[] };
type FailedResource = NonNullable<Status["failedResources"]>[number];

const componentTypeLabel = "metallb.io/component-type";
const nodeNameLabel = "metallb.io/node-name";
/** The spec's examples have it before the controller's errors, and not before a speaker's. */
const PREFIX = { controller: "failed to parse configuration: ", speaker: "" };
const MANY = 1000;
/** In bytes. */
const ROOM = { failedResources: 450_000, resources: 180_000 };
const LONGEST = { lastError: 65_536, message: 4096, field: 253, condition: 32_768 };
/** All messages together. */
const MESSAGES = 400_000;

export function configurationStateName(component: Component): string {
  return component.type === "controller" ? "controller" : prefixedName("speaker-", component.node);
}

/** The ConfigurationState of a component. Before it has found anything it is Unknown, unless an earlier run left a result: that holds until there is a new one. */
export function configurationState(component: Component, finding?: Finding, impairment?: Impairment): Picture<ConfigurationState> {
  return {
    status: finding ? statusOf(component, finding, impairment) : (held) => foundBefore(held, impairment),
    create: { metadata: metadataOf(component) },
  };
}

function metadataOf(component: Component): NonNullable<NonNullable<Picture<ConfigurationState>["create"]>["metadata"]> {
  if (component.type === "controller") return { labels: { [componentTypeLabel]: "controller" } };
  const { node, nodeUid } = component;
  return {
    labels: { [componentTypeLabel]: "speaker", [nodeNameLabel]: labelValue(node) },
    annotations: { [nodeAnnotation]: node },
    ...(nodeUid !== undefined && { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: node, uid: nodeUid }] }),
  };
}

function statusOf(component: Component, finding: Finding, impairment?: Impairment): Picture<ConfigurationState>["status"] {
  const { failures, unread = [] } = finding;
  if (unread.length === 0) return found(component, finding, impairment);
  return (held) => found(component, { ...finding, failures: [...failures, ...stillHeld(held, unread)] }, impairment, held);
}

/** What was found last of those that cannot be judged now, unless it is known to be about another generation. */
function stillHeld(held: Status | undefined, unread: Loaded["unread"]): Finding["failures"][number][] {
  const generations = new Map(unread.map(({ kind, name, generation }) => [`${kind}/${name}`, generation]));
  return (held?.failedResources ?? []).flatMap(({ observedGeneration, namespace = "", field = "", ...failure }) => {
    const generation = generations.get(`${failure.kind}/${failure.name}`);
    if (generation === undefined || (observedGeneration ?? generation) !== generation) return [];
    return [{ ...failure, namespace, field, ...(observedGeneration !== undefined && { generation: observedGeneration }) }];
  });
}

/** What an earlier run found, and why nothing newer is known. */
function foundBefore(held: Status | undefined, impairment?: Impairment): StatusReport {
  const unknown = notYetKnown(impairment);
  if (held?.result === undefined) return unknown;
  if (!impairment) return { ...held, conditions: held.conditions ?? [] };
  const { result, failedResources = [] } = held;
  return { ...held, conditions: result === "Unknown" ? unknown.conditions : [verdict(failedResources, 0, impairment)] };
}

function notYetKnown(impairment?: Impairment): StatusReport {
  const { reason, message } = impairment ?? { reason: "Starting", message: "The configuration has not been looked at yet" };
  return { result: "Unknown", conditions: [{ type: "Valid", status: "Unknown", reason, message: cut(message, LONGEST.condition) }] };
}

function found(component: Component, { failures, resources, unread = [] }: Finding, impairment?: Impairment, held?: Status): StatusReport {
  const sorted = failures.toSorted(
    (a, b) => compare(a.kind, b.kind) || compare(a.name, b.name) || compare(a.field, b.field) || compare(a.message, b.message),
  );
  // Each is a character at least.
  const texts = sorted.slice(0, LONGEST.lastError).map(({ message }) => PREFIX[component.type] + cut(message, LONGEST.lastError));
  const failedResources = fitting(listFailures(sorted), ROOM.failedResources).slice(0, 4096);
  const listed = listResources(resources);
  // What nobody could look at is no error; but as long as it is left out, it is not in effect either.
  const isInDoubt = failures.length === 0 && held?.result !== "Valid" && unread.some(({ isInForce }) => !isInForce);
  const condition = verdict(failures, failures.length - failedResources.length, impairment, unread.length > 0);
  return {
    result: isInDoubt ? "Unknown" : failures.length === 0 ? "Valid" : "Invalid",
    lastError: cut(texts.join("\n"), LONGEST.lastError),
    ...(failedResources.length > 0 && { failedResources }),
    ...(listed.length > 0 && { resources: listed }),
    conditions: [isInDoubt ? { ...condition, status: "Unknown" } : condition],
  };
}

function listFailures(failures: Finding["failures"]): FailedResource[] {
  const longest = Math.max(100, Math.min(LONGEST.message, Math.floor(MESSAGES / failures.length)));
  return failures.map(({ kind, name, namespace, reason, field, message, generation, class: lasts }) => ({
    kind,
    name,
    ...(namespace !== "" && { namespace }),
    reason,
    message: cut(message, longest),
    ...(field !== "" && { field: cut(field, LONGEST.field) }),
    class: lasts,
    ...(generation !== undefined && { observedGeneration: generation }),
  }));
}

function listResources(resources: Finding["resources"]): NonNullable<Status["resources"]> {
  const shown = resources.length > MANY ? resources.filter(({ state }) => state !== "Applied") : resources;
  const listed = shown
    .map(({ kind, name, generation, state }) => ({ kind, name, observedGeneration: generation, state }))
    .sort((a, b) => compare(a.kind, b.kind) || compare(a.name, b.name));
  return fitting(listed, ROOM.resources, ({ state }) => state !== "Applied").slice(0, 4096);
}

function verdict(
  failures: readonly { readonly kind: string; readonly name: string }[],
  unlisted: number,
  impairment?: Impairment,
  isPartial = false,
): ConditionReport {
  const count = new Set(failures.map(({ kind, name }) => `${kind}/${name}`)).size;
  const isValid = count === 0;
  const more = unlisted > 0 ? `; ${unlisted} failures are too many to be listed` : "";
  const message = isValid
    ? "All of the configuration is in effect"
    : `${count === 1 ? "1 resource is" : `${count} resources are`} not in effect as written${more}`;
  return {
    type: "Valid",
    status: isValid ? "True" : "False",
    reason: impairment?.reason ?? (isValid ? "ConfigurationValid" : "ConfigurationInvalid"),
    message: cut(
      impairment ? `${impairment.message}; ${isPartial ? "apart from" : "before"} that: ${message}` : message,
      LONGEST.condition,
    ),
  };
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
