import type { FailoverPolicy, FailoverToken, Role } from "../../../api/failover/failover-policy.ts";
import { decideToken, fenceAnnotationOf, type PeerView, type TokenDecision, type TokenInput } from "../../token/token.ts";

/** The volumes, or the workloads, of a site: one object stands for all of them. */
interface Resource {
  /** Volumes are primary; workloads run. */
  readonly on: boolean;
  /** Written under the epoch that is held now, since something else was last wanted. */
  readonly fenced: boolean;
}

/** What csi-addons reports of volumes, beside their state. */
interface Volumes extends Resource {
  /**
   * Degraded=False and Resyncing=False at the current generation. csi-addons sees it once, when both sides are demoted and equal, and then asks no
   * more: it stays until the volumes are promoted or demoted again, whatever the other side does.
   */
  readonly inSync: boolean;
}

/** A request on its way to the site's own API server. One whose precondition no longer holds is as good as answered, so there are none of those. */
type Flight =
  | { readonly to: "policy"; readonly token: FailoverToken }
  | { readonly to: "volumes" | "workloads"; readonly on: boolean; readonly fence?: string };

/** What one can read of a policy. */
interface PolicyFields {
  readonly generation: number;
  readonly wants: Role;
  readonly token?: FailoverToken;
  /** The epoch that `spec.force` names. */
  readonly force?: number;
}

/** One site with its controller. */
export interface ModelSite {
  readonly mode: "safe" | "unsafe";
  readonly policy: PolicyFields;
  readonly volumes: Volumes;
  readonly workloads: Resource;
  /** The other side's storage lacks something that was written here. */
  readonly ahead: boolean;
  /** What the controller has read in the pass that it is in, and whether a write with that resourceVersion would still be taken. */
  readonly read: { readonly policy?: PolicyFields; readonly volumes?: Volumes; readonly workloads?: Resource };
  readonly fresh: { readonly policy: boolean; readonly volumes: boolean; readonly workloads: boolean };
  /** What the controller waits for the answers of. */
  readonly flights: readonly Flight[];
  /** What dead controllers have left under way: it may arrive at any time or never. */
  readonly orphans: readonly Flight[];
}

/** The protocol as it is, or broken in one place. */
export interface Protocol {
  readonly decide: (input: TokenInput) => TokenDecision;
  /** A token write carries the resourceVersion of the policy that was read. */
  readonly preconditions: boolean;
  readonly fences: boolean;
}

export const PROTOCOL: Protocol = { decide: decideToken, preconditions: true, fences: true };

const NOTHING = { read: {}, fresh: { policy: false, volumes: false, workloads: false } };

export function siteAtRest(mode: ModelSite["mode"], wants: Role, running: boolean): ModelSite {
  const workloads = { on: running, fenced: false };
  const volumes = { ...workloads, inSync: false };
  return { mode, policy: { generation: 1, wants }, volumes, workloads, ahead: running, ...NOTHING, flights: [], orphans: [] };
}

export function isIdle({ read, flights }: ModelSite): boolean {
  return flights.length === 0 && read.policy === undefined;
}

/** What the site alone can come to next; `readPeer` is the one step for which it needs the other. */
export function nextStates(site: ModelSite, protocol: Protocol): ModelSite[] {
  return [...ownReads(site), ...[...site.flights, ...site.orphans].map((flight) => land(site, flight, protocol))];
}

function ownReads(site: ModelSite): ModelSite[] {
  const { read, fresh, policy, volumes, workloads } = site;
  if (site.flights.length > 0) return [];
  if (!read.policy) return [{ ...site, read: { ...read, policy }, fresh: { ...fresh, policy: true } }];
  if (!read.workloads) return [{ ...site, read: { ...read, workloads }, fresh: { ...fresh, workloads: true } }];
  if (!read.volumes) return [{ ...site, read: { ...read, volumes }, fresh: { ...fresh, volumes: true } }];
  return [];
}

/** The storage brings the last writes to the other side, which it does once they are stopped. */
export function canArrive({ ahead, volumes }: ModelSite): boolean {
  return ahead && !volumes.on;
}

export function arrived(site: ModelSite): ModelSite {
  return { ...site, ahead: false };
}

/** csi-addons asks the driver, and both sides are demoted and equal. */
export function canSync(site: ModelSite, peer: ModelSite): boolean {
  return !site.volumes.on && !site.volumes.inSync && !site.ahead && !peer.volumes.on && !peer.ahead;
}

export function synced(site: ModelSite): ModelSite {
  return { ...site, volumes: { ...site.volumes, inSync: true } };
}

/** Reads the other site's policy; with that the pass is decided, and what it writes is under way. Undefined while it is not the time to. */
export function readPeer(site: ModelSite, peer: PeerView, protocol: Protocol): ModelSite | undefined {
  const { read } = site;
  if (!read.policy || !read.volumes || !read.workloads) return undefined;
  const input = { policy: read.policy, volumes: read.volumes, workloads: read.workloads, peer };
  const written = writes(site.mode, input, protocol).filter(({ to }) => site.fresh[to] || (to === "policy" && !protocol.preconditions));
  return { ...site, ...NOTHING, flights: written };
}

function writes(
  mode: ModelSite["mode"],
  { policy, volumes, workloads, peer }: { policy: PolicyFields; volumes: Volumes; workloads: Resource; peer: PeerView },
  { decide, fences }: Protocol,
): Flight[] {
  const object = asObject(policy);
  const fence = fences ? fenceAnnotationOf(object) : undefined;
  const writesStopped = !workloads.on && (fence === undefined || workloads.fenced);
  const demoted = !volumes.on && (fence === undefined || volumes.fenced);
  const off = { on: false, ...(fence === undefined ? {} : { fence }) };
  const copied = !volumes.on && volumes.inSync;
  const facts = { demoted, writesStopped, copied, promoted: volumes.on, blockers: [] };
  const { take, release, mayWrite, mustDemote } = decide({ policy: object, mode, ...facts, peer });

  if (take) return [{ to: "policy", token: take }];
  const flights: Flight[] = release ? [{ to: "policy", token: release }] : [];
  if (policy.wants === "secondary" || mustDemote) {
    if (!writesStopped) flights.push({ to: "workloads", ...off });
    if (!demoted && (writesStopped || mode === "unsafe")) flights.push({ to: "volumes", ...off });
  } else if (mayWrite) {
    if (!volumes.on) flights.push({ to: "volumes", on: true });
    if (!workloads.on && (volumes.on || mode === "unsafe")) flights.push({ to: "workloads", on: true });
  }
  return flights;
}

function land(site: ModelSite, flight: Flight, protocol: Protocol): ModelSite {
  const without = {
    ...site,
    flights: site.flights.filter((other) => other !== flight),
    orphans: site.orphans.filter((other) => other !== flight),
  };
  if (flight.to === "policy") {
    const taken = flight.token.state === "Held" ? unfenced(without) : without;
    return changed({ ...taken, policy: { ...site.policy, token: flight.token } }, "policy", protocol);
  }
  const fenced = flight.fence !== undefined && flight.fence === fenceAnnotationOf(asObject(site.policy));
  const landed = { ...without[flight.to], on: flight.on, fenced };
  const isSame = flight.on === site[flight.to].on;
  const after = { ...without, [flight.to]: flight.to === "volumes" && !isSame ? { ...landed, inSync: false } : landed };
  return changed({ ...after, ahead: after.ahead || (after.volumes.on && after.workloads.on) }, flight.to, protocol);
}

function unfenced(site: ModelSite): ModelSite {
  return { ...site, volumes: { ...site.volumes, fenced: false }, workloads: { ...site.workloads, fenced: false } };
}

/** The resourceVersion has moved on: whatever was to be written with the old one comes to nothing. */
function changed(site: ModelSite, what: Flight["to"], { preconditions }: Protocol): ModelSite {
  const holds = ({ to }: Flight): boolean => to !== what || (to === "policy" && !preconditions);
  return { ...site, fresh: { ...site.fresh, [what]: false }, flights: site.flights.filter(holds), orphans: site.orphans.filter(holds) };
}

export function withDesiredState(site: ModelSite, protocol: Protocol): ModelSite {
  const wants = site.policy.wants === "primary" ? "secondary" : "primary";
  return changed(unfenced({ ...site, policy: { ...site.policy, generation: site.policy.generation + 1, wants } }), "policy", protocol);
}

export function forced(site: ModelSite, protocol: Protocol): ModelSite {
  const { generation, token } = site.policy;
  const policy: PolicyFields = { ...site.policy, generation: generation + 1, wants: "primary", force: token?.epoch ?? 0 };
  return changed(unfenced({ ...site, policy }), "policy", protocol);
}

/** The controller dies, or gives up waiting for an answer: what it has sent may still arrive. */
export function afterCrash(site: ModelSite): ModelSite {
  const orphans = new Map([...site.orphans, ...site.flights].map((flight) => [describe(flight), flight]));
  return { ...site, ...NOTHING, flights: [], orphans: [...orphans.keys()].toSorted().map((text) => orphans.get(text) as Flight) };
}

/** What the other site is told when it asks. */
export function tokenText({ policy }: ModelSite): PeerView {
  return { reachable: true, exists: true, desiredState: policy.wants, ...(policy.token ? { token: policy.token } : {}) };
}

function asObject({ generation, wants, token, force }: PolicyFields): FailoverPolicy {
  return {
    apiVersion: "crd.hahomelabs.com/v1alpha1",
    kind: "FailoverPolicy",
    metadata: { name: "shop", namespace: "shop", uid: "shop", generation },
    spec: { desiredState: wants, ...(force === undefined ? {} : { force: { reason: "fire", epoch: force, uid: "shop" } }) },
    ...(token ? { status: { token } } : {}),
  };
}

function describe(flight: Flight): string {
  if (flight.to === "policy") return `token ${flight.token.state} ${flight.token.epoch}`;
  const under = flight.fence === undefined ? "" : ` under ${flight.fence}`;
  if (flight.to === "volumes") return flight.on ? "promotion" : `demotion${under}`;
  return flight.on ? "start" : `stop${under}`;
}

/** In one line, for the story of a violation. */
export function stateText({ policy, volumes, workloads, ahead, read, flights, orphans }: ModelSite): string {
  const token = policy.token ? `${policy.token.state} ${policy.token.epoch}${policy.token.copied ? " copied" : ""}` : "no token";
  const copy = `${ahead ? " ahead" : ""}${volumes.inSync ? " in sync" : ""}`;
  const has = [`${volumes.on ? "primary" : "secondary"}${copy}`, workloads.on ? "running" : "stopped"].join(" ");
  const known = Object.keys(read).length > 0 ? `, has read its ${Object.keys(read).join(", ")}` : "";
  const under = [...flights.map(describe), ...orphans.map((flight) => `lost ${describe(flight)}`)]
    .map((text) => `, ${text} under way`)
    .join("");
  return `wants ${policy.wants}, ${token}, ${has}${known}${under}`;
}
