import { nodeAnnotation } from "../../api/annotations.ts";
import type { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import type { ConfigurationProblem } from "../reasons.ts";
import type { ConditionReport } from "../../kube/status/conditions.ts";
import type { DesiredStatus } from "../../kube/status/plan.ts";
import { truncate, truncateList } from "../../kube/status/limits.ts";
import { compare } from "../../util/compare.ts";
import type { Failure } from "../../resilience/failure.ts";
import type { Loaded } from "../config/load.ts";
import { labelValue, prefixedName } from "./names.ts";
import { plural } from "../../util/text.ts";

export type MetallbComponent =
  | { readonly type: "controller" }
  | { readonly type: "speaker"; readonly node: string; readonly nodeUid?: string };

export interface ConfigurationResult {
  readonly failures: readonly (Failure & { readonly generation?: number })[];
  readonly resources: Loaded["resources"];
  /** Resources that could not be validated. */
  readonly unread?: Loaded["unread"];
  /** Interfaces for layer 2 addresses without a carrier. */
  readonly lostLinks?: readonly string[];
}

type Status = NonNullable<ConfigurationState["status"]>;
type StatusReport = Omit<Status, "conditions"> & { conditions: ConditionReport[] };
type FailedResource = NonNullable<Status["failedResources"]>[number];

const componentTypeLabel = "metallb.io/component-type";
const nodeNameLabel = "metallb.io/node-name";
/** The spec's examples prefix the controller's errors, but not a speaker's. */
const PREFIX = { controller: "failed to parse configuration: ", speaker: "" };
const MANY = 1000;
const MOST_LINKS = 64;
/** In bytes. */
const ROOM = { failedResources: 450_000, resources: 180_000 };
const LONGEST = { lastError: 65_536, message: 4096, field: 253, condition: 32_768 };
/** All messages together. */
const MESSAGES = 400_000;

export function configurationStateName(component: MetallbComponent): string {
  return component.type === "controller" ? "controller" : prefixedName("speaker-", component.node);
}

/** The ConfigurationState of a component. Before the first load it is Unknown, unless an earlier run left a result: that stays until there is a new one. */
export function configurationState(
  component: MetallbComponent,
  finding?: ConfigurationResult,
  readProblem?: ConfigurationProblem,
): DesiredStatus<ConfigurationState> {
  return {
    status: finding ? statusOf(component, finding, readProblem) : (existing) => foundBefore(existing, readProblem),
    create: { metadata: metadataOf(component) },
  };
}

function metadataOf(component: MetallbComponent): NonNullable<NonNullable<DesiredStatus<ConfigurationState>["create"]>["metadata"]> {
  if (component.type === "controller") return { labels: { [componentTypeLabel]: "controller" } };
  const { node, nodeUid } = component;
  return {
    labels: { [componentTypeLabel]: "speaker", [nodeNameLabel]: labelValue(node) },
    annotations: { [nodeAnnotation]: node },
    ...(nodeUid !== undefined && { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: node, uid: nodeUid }] }),
  };
}

function statusOf(
  component: MetallbComponent,
  finding: ConfigurationResult,
  readProblem?: ConfigurationProblem,
): DesiredStatus<ConfigurationState>["status"] {
  const { failures, unread = [] } = finding;
  if (unread.length === 0) return found(component, finding, readProblem);
  return (existing) => found(component, { ...finding, failures: [...failures, ...keptFailures(existing, unread)] }, readProblem, existing);
}

/** The last failures of resources that cannot be validated now, unless they describe another generation. */
function keptFailures(existing: Status | undefined, unread: Loaded["unread"]): ConfigurationResult["failures"][number][] {
  const generations = new Map(unread.map(({ kind, name, generation }) => [`${kind}/${name}`, generation]));
  return (existing?.failedResources ?? []).flatMap(({ observedGeneration, namespace = "", field = "", ...failure }) => {
    const generation = generations.get(`${failure.kind}/${failure.name}`);
    if (generation === undefined || (observedGeneration ?? generation) !== generation) return [];
    return [{ ...failure, namespace, field, ...(observedGeneration !== undefined && { generation: observedGeneration }) }];
  });
}

/** The result of an earlier run, and why there is no newer one. */
function foundBefore(existing: Status | undefined, readProblem?: ConfigurationProblem): StatusReport {
  const unknown = notYetKnown(readProblem);
  if (existing?.result === undefined) return unknown;
  if (!readProblem) return { ...existing, conditions: existing.conditions ?? [] };
  const { result, failedResources = [] } = existing;
  return { ...existing, conditions: result === "Unknown" ? unknown.conditions : [verdict(failedResources, 0, readProblem)] };
}

function notYetKnown(readProblem?: ConfigurationProblem): StatusReport {
  const { reason, message }: ConfigurationProblem = readProblem ?? { reason: "Starting", message: "Configuration not read yet" };
  return { result: "Unknown", conditions: [{ type: "Valid", status: "Unknown", reason, message: truncate(message, LONGEST.condition) }] };
}

function found(
  component: MetallbComponent,
  { failures, resources, unread = [], lostLinks = [] }: ConfigurationResult,
  readProblem?: ConfigurationProblem,
  existing?: Status,
): StatusReport {
  const sorted = failures.toSorted(
    (a, b) => compare(a.kind, b.kind) || compare(a.name, b.name) || compare(a.field, b.field) || compare(a.message, b.message),
  );
  // Each has at least one character.
  const texts = sorted.slice(0, LONGEST.lastError).map(({ message }) => PREFIX[component.type] + truncate(message, LONGEST.lastError));
  const failedResources = truncateList(listFailures(sorted), ROOM.failedResources).slice(0, 4096);
  const listed = listResources(resources);
  // A resource that could not be read is not an error, but while it is left out, it is not in effect.
  const isInDoubt = failures.length === 0 && existing?.result !== "Valid" && unread.some(({ isInForce }) => !isInForce);
  const condition = verdict(failures, failures.length - failedResources.length, readProblem, unread.length > 0);
  return {
    result: isInDoubt ? "Unknown" : failures.length === 0 ? "Valid" : "Invalid",
    lastError: truncate(texts.join("\n"), LONGEST.lastError),
    ...(failedResources.length > 0 && { failedResources }),
    ...(listed.length > 0 && { resources: listed }),
    ...(lostLinks.length > 0 && { links: lostLinks.slice(0, MOST_LINKS).map((name) => ({ name, state: "NoCarrier" as const })) }),
    conditions: [isInDoubt ? { ...condition, status: "Unknown" } : condition, ...(lostLinks.length > 0 ? [linksUp(lostLinks)] : [])],
  };
}

/** Present only while one is down. */
function linksUp(lostLinks: readonly string[]): ConditionReport {
  const message = `No carrier on ${lostLinks.slice(0, MOST_LINKS).join(", ")}: layer 2 addresses are not announced there`;
  return { type: "LinksUp", status: "False", reason: "NoCarrier", message };
}

function listFailures(failures: ConfigurationResult["failures"]): FailedResource[] {
  const longest = Math.max(100, Math.min(LONGEST.message, Math.floor(MESSAGES / failures.length)));
  return failures.map(({ kind, name, namespace, reason, field, message, generation, class: lasts }) => ({
    kind,
    name,
    ...(namespace !== "" && { namespace }),
    reason,
    message: truncate(message, longest),
    ...(field !== "" && { field: truncate(field, LONGEST.field) }),
    class: lasts,
    ...(generation !== undefined && { observedGeneration: generation }),
  }));
}

function listResources(resources: ConfigurationResult["resources"]): NonNullable<Status["resources"]> {
  const relevant = resources.length > MANY ? resources.filter(({ state }) => state !== "Applied") : resources;
  const listed = relevant
    .map(({ kind, name, generation, state }) => ({ kind, name, observedGeneration: generation, state }))
    .sort((a, b) => compare(a.kind, b.kind) || compare(a.name, b.name));
  return truncateList(listed, ROOM.resources, ({ state }) => state !== "Applied").slice(0, 4096);
}

function verdict(
  failures: readonly { readonly kind: string; readonly name: string }[],
  unlisted: number,
  readProblem?: ConfigurationProblem,
  isPartial = false,
): ConditionReport {
  const count = new Set(failures.map(({ kind, name }) => `${kind}/${name}`)).size;
  const isValid = count === 0;
  const more = unlisted > 0 ? `; ${unlisted} failures not listed` : "";
  const message = isValid
    ? "All configuration is in effect"
    : `${plural(count, "resource is", "resources are")} not in effect as written${more}`;
  return {
    type: "Valid",
    status: isValid ? "True" : "False",
    reason: readProblem?.reason ?? (isValid ? "ConfigurationValid" : "ConfigurationInvalid"),
    message: truncate(
      readProblem ? `${readProblem.message}; ${isPartial ? "otherwise" : "last result"}: ${message}` : message,
      LONGEST.condition,
    ),
  };
}
