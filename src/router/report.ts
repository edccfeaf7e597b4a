import type { UnderlaySpec } from "./model/specs.ts";
import type { Condition } from "../api/kind.ts";
import type { RouterNodeConfigurationStatus } from "../api/openpe/router-node-configuration-status.ts";
import { metaTime } from "../api/time.ts";
import type { ConditionReason } from "./reasons.ts";
import type { ForeignObject } from "../hostnet/foreign.ts";
import type { Link, Snapshot } from "../hostnet/snapshot.ts";
import type { MissedHeartbeats } from "../kube/members/agent-watch.ts";
import { type PartOff, notReportingConditions } from "../kube/members/unknown-conditions.ts";
import type { LastGoodResource } from "./model/rendered.ts";
import type { ConditionReport } from "../kube/status/conditions.ts";
import { truncateLine, truncateList } from "../kube/status/limits.ts";
import { sameStatus } from "../kube/status/same-status.ts";
import { compare } from "../util/compare.ts";
import type { Failure } from "../resilience/failure.ts";
import { inKindOrder, type SelectedResource } from "./plan.ts";
import type { RouterKind } from "./model/step.ts";
import { type OverlayState, overlayCondition, overlayStatus, probedVnis } from "./overlay-status.ts";
import { joinFirst, plural } from "../util/text.ts";

type Status = NonNullable<RouterNodeConfigurationStatus["status"]>;
export type SessionReport = NonNullable<Status["sessions"]>[number];
export type LinkReport = NonNullable<Status["links"]>[number];
export type VniReport = NonNullable<Status["vnis"]>[number];
type ForeignReport = NonNullable<Status["foreign"]>[number];
type FailedResource = NonNullable<Status["failedResources"]>[number];
type ResourceReport = NonNullable<Status["resources"]>[number];
type RouterCondition = ConditionReport & { readonly reason: ConditionReason };
export type StatusReport = Omit<Status, "conditions" | "lastUpdateTime"> & { conditions: ConditionReport[] };

/** The result of applying the router's configuration on this node. */
export interface PassOutcome {
  readonly selected: readonly SelectedResource[];
  readonly failures: readonly Failure[];
  /** The generation of each resource that is live, by owner. */
  readonly live: ReadonlyMap<string, number>;
  /** Being rebuilt, by owner. */
  readonly rebuilding?: ReadonlySet<string>;
  /** The node's own Underlay failed, so that everything else waits. */
  readonly stopped?: Failure;
  readonly unavailable?: string;
  /** The interfaces of the Underlay; missing if they could not be read. */
  readonly links?: readonly LinkReport[];
  /** What others made that can keep packets from the router's links; missing if it could not be read. */
  readonly foreign?: readonly ForeignObject[];
}

/** The state of the router in FRR and the kernel; undefined while FRR does not answer. */
export interface FrrState {
  readonly sessions: readonly SessionReport[];
  readonly vnis: readonly VniReport[];
}

const MOST_FOREIGN = 64;
/** In bytes. */
const ROOM = { failedResources: 450_000, resources: 180_000, sessions: 100_000, vnis: 100_000 };
const LONGEST = { message: 4096, field: 253, condition: 32_768 };
/** All messages together. */
const MESSAGES = 400_000;

/** The status as the spec words it, without times. `before`: what the agent reported before a restart that left the router as it was. */
export function report(outcome: PassOutcome, frr: FrrState | undefined, overlay?: OverlayState, before?: Status): StatusReport {
  const observed = overlay?.isStarting ? before : undefined;
  const failedResources = truncateList(failed(outcome.failures), ROOM.failedResources);
  const failing = new Set(outcome.failures.map(ownerOf));
  // The resources of an unavailable router are not known.
  const selected = outcome.unavailable === undefined ? outcome.selected : [];
  const resources = selected.map((resource) => Object.assign({}, resource, { state: stateOf(resource, outcome, failing) }));
  const listed = truncateList(resources.sort(inKindOrder), ROOM.resources, ({ state }) => state !== "Applied");
  const sessions = truncateList(frr?.sessions ?? [], ROOM.sessions, ({ state }) => state !== "Established");
  const vnis = truncateList(frr?.vnis ?? [], ROOM.vnis, ({ state }) => state !== "Up");
  const unlisted = outcome.failures.length - failedResources.length;
  return {
    conditions: [
      ...verdict(outcome, unlisted),
      sessionsEstablished(outcome, frr),
      vnisUp(outcome, frr, probedVnis(overlay, observed)),
      ...(overlay ? [overlayCondition(outcome.unavailable, overlay, observed)] : []),
      ...(outcome.foreign ? [dataPathClear(outcome.foreign)] : []),
    ],
    ...(failedResources.length > 0 && { failedResources }),
    ...(listed.length > 0 && { resources: listed }),
    ...(sessions.length > 0 && { sessions }),
    ...(outcome.links && outcome.links.length > 0 && { links: [...outcome.links] }),
    ...(vnis.length > 0 && { vnis }),
    ...(overlay?.vtep !== undefined && { overlay: observed?.overlay ?? overlayStatus(overlay, before?.overlay) }),
    ...(outcome.foreign && outcome.foreign.length > 0 && { foreign: outcome.foreign.slice(0, MOST_FOREIGN).map(foreignReport) }),
  };
}

/** lastUpdateTime changes with the result of the configuration, not with sessions or VNIs. */
export function setLastUpdateTime(next: Status, before: Status | undefined, now: string): Status {
  const lastUpdateTime =
    before?.lastUpdateTime !== undefined && sameStatus(configuration(before), configuration(next)) ? before.lastUpdateTime : now;
  return { ...next, lastUpdateTime };
}

/** Sessions, VNIs and links change while the configuration stays: a flapping switch changes them often. */
export function onlyObserved(before: Status, next: Status): boolean {
  return before.lastUpdateTime !== undefined && before.lastUpdateTime === next.lastUpdateTime;
}

function configuration({ conditions = [], failedResources = [], resources = [] }: Status): object {
  return { conditions: conditions.filter(({ type }) => type === "Ready" || type === "Degraded"), failedResources, resources };
}

function verdict(outcome: PassOutcome, unlisted: number): RouterCondition[] {
  const { failures, stopped, unavailable } = outcome;
  if (unavailable !== undefined) return conditions("RouterUnavailable", unavailable, unavailable);
  if (stopped) {
    const what = stopped.reason === "ApplicationFailed" ? "application" : "validation";
    return conditions(
      "UnderlayFailed",
      `Underlay failed ${what}, existing FRR configuration left as-is`,
      `Underlay failed ${what}, VNI processing skipped`,
    );
  }
  if (outcome.rebuilding && outcome.rebuilding.size > 0) {
    const message = "Rebuilding the router for a new AS number";
    return conditions("Rebuilding", message, message);
  }
  if (failures.length === 0) {
    const message = "All configuration applied successfully";
    return [
      { type: "Ready", status: "True", reason: "ConfigurationSuccessful", message },
      { type: "Degraded", status: "False", reason: "ConfigurationSuccessful", message },
    ];
  }
  const count = new Set(failures.map(ownerOf)).size;
  const others = outcome.selected.length > count ? "other resources applied successfully" : "no other resource applied";
  const more = unlisted > 0 ? `; ${unlisted} failures not listed` : "";
  return conditions(
    "ConfigurationFailed",
    `${plural(count, "resource")} failed, ${others}${more}`,
    `${count === 1 ? "1 resource" : "Some resources"} failed to configure`,
  );
}

function conditions(reason: ConditionReason, notReady: string, degraded: string): RouterCondition[] {
  return [
    { type: "Ready", status: "False", reason, message: truncateLine(notReady, LONGEST.condition) },
    { type: "Degraded", status: "True", reason, message: truncateLine(degraded, LONGEST.condition) },
  ];
}

function sessionsEstablished({ unavailable }: PassOutcome, frr: FrrState | undefined): RouterCondition {
  const type = "SessionsEstablished";
  if (!frr) {
    const message = truncateLine(unavailable ?? "Waiting for FRR to report its sessions", LONGEST.condition);
    return { type, status: "Unknown", reason: "RouterUnavailable", message };
  }
  const { sessions } = frr;
  if (sessions.length === 0) return { type, status: "True", reason: "NoSessions", message: "No BGP session configured" };
  const all = plural(sessions.length, "BGP session");
  const down = sessions.filter(({ state }) => state !== "Established");
  if (down.length === 0) return { type, status: "True", reason: "AllEstablished", message: `${all} established` };
  const named = down.map(({ vrf, neighbor, state }) => `${neighbor}${vrf === "default" ? "" : ` in VRF ${vrf}`} is ${state}`);
  const message = `${down.length} of ${all} not established: ${joinFirst(named, 5, { more: ", and " })}`;
  return { type, status: "False", reason: "SessionsDown", message };
}

/** Up in FRR and the kernel, and of the probes of each VNI not all fail. */
function vnisUp({ unavailable }: PassOutcome, frr: FrrState | undefined, dead: string | undefined): RouterCondition {
  const type = "VNIsUp";
  if (!frr) {
    const message = truncateLine(unavailable ?? "Waiting for FRR to report its VNIs", LONGEST.condition);
    return { type, status: "Unknown", reason: "RouterUnavailable", message };
  }
  const { vnis } = frr;
  const all = plural(vnis.length, "VNI");
  if (vnis.length === 0) return { type, status: "True", reason: "NoVNIs", message: "No VNI configured" };
  const bad = vnis.filter(({ state }) => state !== "Up");
  if (bad.length === 0 && dead !== undefined) return { type, status: "False", reason: "NoPathWorks", message: dead };
  if (bad.length === 0) return { type, status: "True", reason: "AllUp", message: `${all} up` };
  const named = bad.map(({ vni, state, message }) => `${vni} is ${state}${message === undefined ? "" : ` (${message})`}`);
  const local = `${bad.length} of ${all} not up: ${joinFirst(named, 5, { more: ", and " })}`;
  const message = truncateLine(dead === undefined ? local : `${local}; ${dead}`, LONGEST.condition);
  const down = dead !== undefined || bad.some(({ state }) => state !== "Unknown");
  return down ? { type, status: "False", reason: "VNIsDown", message } : { type, status: "Unknown", reason: "NotObserved", message };
}

function dataPathClear(foreign: readonly ForeignObject[]): RouterCondition {
  const type = "DataPathClear";
  if (foreign.length === 0)
    return { type, status: "True", reason: "NothingForeign", message: "No object of another program can block packets" };
  const message = joinFirst(foreign.map(describeForeign), 5, { more: ", and " });
  return { type, status: "False", reason: "ForeignObjects", message };
}

function foreignReport({ object, netns, link, text }: ForeignObject): ForeignReport {
  return { object, namespace: netns, ...(link !== undefined && { interface: link }), text };
}

/** As `ip rule "32765: from all blackhole" in the router's namespace`. */
export function describeForeign({ object, netns, text }: Pick<ForeignObject, "object" | "netns" | "text">): string {
  return `${OBJECT_PREFIXES[object]} "${text}" in the ${netns}'s namespace`;
}

const OBJECT_PREFIXES: Readonly<Record<ForeignObject["object"], string>> = {
  rule: "ip rule",
  route: "ip route",
  neighbor: "ip neigh",
  qdisc: "tc",
  filter: "tc",
  nftables: "nftables",
  port: "bridge port",
  mtu: "link",
};

function stateOf(
  resource: PassOutcome["selected"][number],
  { rebuilding, live }: PassOutcome,
  failing: Set<string>,
): ResourceReport["state"] {
  const owner = ownerOf(resource);
  if (rebuilding?.has(owner)) return "Rebuilding";
  if (!live.has(owner)) return "Failed";
  return live.get(owner) === resource.generation && !failing.has(owner) ? "Applied" : "KeptPrevious";
}

function failed(failures: readonly Failure[]): FailedResource[] {
  const longest = Math.max(100, Math.min(LONGEST.message, Math.floor(MESSAGES / failures.length)));
  return failures
    .map(({ kind, name, reason, message, field }): FailedResource => {
      const entry = { kind: kind as RouterKind, name, reason, message: truncateLine(message, longest) };
      return field === "" ? entry : { ...entry, field: truncateLine(field, LONGEST.field) };
    })
    .sort((a, b) => inKindOrder(a, b) || compare(a.field ?? "", b.field ?? "") || compare(a.message ?? "", b.message ?? ""));
}

interface Named {
  readonly kind: string;
  readonly name: string;
}

function ownerOf({ kind, name }: Named): string {
  return `${kind}/${name}`;
}

/** Marks the last report of a node's router as Unknown: nothing is removed, but no condition is True or False. */
export function unknownRouter(
  { status }: RouterNodeConfigurationStatus,
  cause: MissedHeartbeats | PartOff,
  now: Date,
): { conditions: Condition[]; lastUpdateTime: string } | undefined {
  const conditions = notReportingConditions(status?.conditions, ["Ready", "Degraded"], cause, now);
  return conditions && { conditions, lastUpdateTime: metaTime(now) };
}

/** The state of the live Underlay's interfaces. `before` has the start times of unchanged states. */
export function underlayLinks(
  lastGood: ReadonlyMap<string, LastGoodResource>,
  { host, router }: Pick<Snapshot, "host" | "router">,
  before: readonly LinkReport[],
  now: Date,
): LinkReport[] {
  const known = new Map(before.map((link) => [link.name, link]));
  const underlays = [...lastGood].filter(([owner]) => owner.startsWith("Underlay/"));
  const names = new Set(underlays.flatMap(([, { spec }]) => (spec as UnderlaySpec).nics ?? []));
  return [...names].sort().map((name) => {
    const state = linkState(router.get(name) ?? host.get(name));
    const already = known.get(name);
    return already?.state === state ? already : { name, state, since: metaTime(now) };
  });
}

function linkState(link: Link | undefined): LinkReport["state"] {
  if (!link) return "Missing";
  if (!link.up) return "Down";
  return link.noCarrier ? "NoCarrier" : "Up";
}
