import { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import type { Event } from "../../api/core/event.ts";
import { Node } from "../../api/core/node.ts";
import { CUSTOM_KINDS } from "../../api/crds/kinds.ts";
import type { Component, Health } from "../../api/health.ts";
import type { Kind, KubeObject } from "../../api/kind.ts";
import type { Cause } from "../../explain/answer.ts";
import type { TimelineRow } from "../api.ts";
import { definedFields } from "./fields.ts";

/** Something that happened to one component. */
export interface Happening extends Pick<TimelineRow, "what" | "source" | "health" | "reason" | "message"> {
  /** The same one is recorded once. */
  readonly id: string;
  readonly component: Component;
  /** Milliseconds since 1970. */
  readonly time: number;
  /** Since when it had failed, of what is fixed. */
  readonly since?: number;
}

/** What people write. What agents and controllers write changes all the time. */
const CONFIGURATION: ReadonlySet<Kind> = new Set<Kind>([
  ...CUSTOM_KINDS.filter(({ kind }) => !isStatus(kind) && kind !== PodNetworkConnectivityCheck.kind),
  Node,
]);

function isStatus(kind: string): boolean {
  return /Stat(e|us)$/.test(kind);
}

/** An object of the configuration, or a node, that is new, has another spec, or is gone. */
export function changeOf(kind: Kind, before: KubeObject | undefined, after: KubeObject | undefined, now: number): Happening | undefined {
  const object = after ?? before;
  if (!object || !CONFIGURATION.has(kind)) return undefined;
  const { namespace, name, uid = "", generation = 0, creationTimestamp } = object.metadata;
  const component = { kind: kind.kind, name, ...(namespace !== undefined && { namespace }) };
  const changed = { component, what: "changed", source: "object", health: "Healthy" } as const;
  if (!after) return { ...changed, id: `deleted ${uid}`, time: now, reason: "Deleted" };
  const created = Date.parse(creationTimestamp ?? "");
  if (!before) return Number.isNaN(created) ? undefined : { ...changed, id: `created ${uid}`, time: created, reason: "Created" };
  if (kind === Node || generation <= (before.metadata.generation ?? 0)) return undefined;
  return {
    ...changed,
    id: `changed ${uid} ${generation}`,
    time: now,
    reason: "Changed",
    message: `spec changed (generation ${generation})`,
  };
}

/** Events that are no failures although they are Warnings, and Normal ones that tell of something that works again. */
const REASONS: ReadonlyMap<string, TimelineRow["what"]> = new Map([
  ["DriftRepaired", "fixed"],
  ["StateRecovered", "fixed"],
  ["StateUsable", "fixed"],
  ["Applied", "fixed"],
  ["Ready", "fixed"],
  ["AddressConflictResolved", "fixed"],
  ["FRRRestarted", "changed"],
]);

/** Every recurrence of an Event is another happening. Outages of checks are told by their statuses. */
export function happeningOf(event: Event): Happening | undefined {
  const { metadata, involvedObject, type, reason = "", message, count = 1, lastTimestamp, eventTime } = event;
  const { kind, name, namespace } = involvedObject;
  const time = Date.parse(lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? "");
  if (kind === undefined || name === undefined || kind === PodNetworkConnectivityCheck.kind || Number.isNaN(time)) return undefined;
  const what = REASONS.get(reason) ?? (type === "Warning" ? "failed" : "changed");
  const health: Health = what === "failed" ? "Degraded" : "Healthy";
  // The status of a node has its name already.
  const node = event.reportingComponent === "plumbline-agent" && !isStatus(kind) ? event.reportingInstance : undefined;
  return {
    id: `event ${metadata.uid ?? metadata.name} ${count}`,
    component: { kind, name, ...definedFields({ namespace, node }) },
    time,
    what,
    source: "event",
    health,
    ...definedFields({ reason, message }),
  };
}

export function outagesOf({ metadata, status }: PodNetworkConnectivityCheck): Happening[] {
  const { namespace = "", name, uid = "" } = metadata;
  const base = { component: { kind: PodNetworkConnectivityCheck.kind, namespace, name }, source: "outage" } as const;
  return (status?.outages ?? []).flatMap(({ start, end, message }) => {
    const [from, to] = [Date.parse(start ?? ""), Date.parse(end ?? "")];
    if (Number.isNaN(from)) return [];
    const id = `${uid} ${from}`;
    const failed: Happening = { ...base, id: `outage ${id}`, time: from, what: "failed", health: "Down", ...definedFields({ message }) };
    if (Number.isNaN(to)) return [failed];
    return [failed, { ...base, id: `outage over ${id}`, time: to, what: "fixed", health: "Healthy", since: from }];
  });
}

/** Failing checks are told by their outages. */
export function failureOf({ id, component, health, since, reason, message }: Cause, now: number): Happening | undefined {
  if (component.kind === PodNetworkConnectivityCheck.kind) return undefined;
  const time = Math.min(now, Date.parse(since ?? "") || now);
  return { id: `failed ${id} ${time}`, component, time, what: "failed", source: "health", health, ...definedFields({ reason, message }) };
}

/** The health of a component that works again says since when only where its status does. */
export function fixOf({ id, component, time: since }: Happening, now: number): Happening {
  return { id: `fixed ${id}`, component, time: now, what: "fixed", source: "health", health: "Healthy", since };
}
