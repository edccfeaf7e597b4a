import { isDeepStrictEqual } from "node:util";
import { BGPSessionStatus } from "../../api/metallb/bgp-session-status.ts";
import { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import { ServiceBGPStatus } from "../../api/metallb/service-bgp-status.ts";
import { ServiceL2Status } from "../../api/metallb/service-l2-status.ts";
import { sessionKey } from "../../frr/session-times.ts";
import { keyOf, type Kind, type KubeObject, parseKey } from "../../api/kind.ts";
import type { Cache } from "../../kube/cache/cache.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Manager } from "../../kube/controller/manager.ts";
import type { Log } from "../../kube/log.ts";
import type { WriteBudget } from "../../kube/status/budget.ts";
import type { StatusOf, StatusRules } from "../../kube/status/plan.ts";
import { StatusWriter } from "../../kube/status/status-writer.ts";
import type { Address } from "../../ip/address.ts";
import type { AnnouncedPeers } from "../announcement/peers.ts";
import type { Config } from "../config/config.ts";
import type { ConfigurationProblem } from "../reasons.ts";
import { configurationState, configurationStateName, type ConfigurationResult } from "../status/configuration-state.ts";
import { labelValue } from "../status/names.ts";
import { serviceBgpStatus, serviceBgpStatusKey } from "../status/service-bgp-status.ts";
import { type AddressState, isAnnounced, type FilterStatus, serviceL2Status, ownedSince, leavesTo } from "../status/service-l2-status.ts";
import { sessionStatus, sessionStatusName } from "../status/bgp-session-status.ts";
import { nodeOfReport } from "../status/unknown.ts";
import { sessionKeyOf, type SessionState } from "./bgp/sessions.ts";

interface Options {
  manager: Manager;
  client: KubeClient;
  node: string;
  /** The namespace of the configuration. */
  namespace: string;
  budget: WriteBudget;
  log: Log;
}

/** Other nodes and Services, for unambiguous report names. */
interface Surroundings {
  readonly nodeUid: () => string | undefined;
  readonly isNode: (name: string) => boolean;
  readonly isPeer: (name: string) => boolean;
  /** By namespace/name. */
  readonly isService: (key: string) => boolean;
  /** Whether the agent of the node is alive, by the controller. */
  readonly isMember: (node: string) => boolean;
}

/** A session that changes again within this time is no transition: it is written with the refreshes. */
const FLAPPING_MS = 10_000;

/** All status objects that a node's speaker writes. Repeating a status costs nothing. */
export class StatusWriters {
  readonly #states: Cache<ConfigurationState>;
  readonly bgp: Reported<ServiceBGPStatus>;
  readonly l2: Reported<ServiceL2Status>;
  readonly #sessions: Reported<BGPSessionStatus>;
  readonly #stateWriter: StatusWriter<ConfigurationState>;
  readonly #stateKey: string;
  readonly #node: string;
  readonly #namespace: string;
  /** By Service: since when this node owns its addresses, and whether that is reported. */
  readonly #ownerships = new Map<string, { readonly since: number; isReported: boolean }>();
  surroundings: Surroundings = {
    nodeUid: () => undefined,
    isNode: () => false,
    isPeer: () => false,
    isService: () => false,
    isMember: () => false,
  };

  constructor(options: Options) {
    const { manager, client, node, namespace, budget, log } = options;
    this.#node = node;
    this.#namespace = namespace;
    const name = configurationStateName({ type: "speaker", node });
    this.#stateKey = `${namespace}/${name}`;
    this.#states = manager.cache(ConfigurationState, { namespace, fieldSelector: `metadata.name=${name}` });
    this.#stateWriter = new StatusWriter<ConfigurationState>({ client, cache: this.#states, kind: ConfigurationState, budget, log });
    manager.add(this.#stateWriter, { phase: "writers" });
    const ofNode = { labelSelector: `metallb.io/node=${labelValue(node)}` };
    this.#sessions = new Reported(
      options,
      BGPSessionStatus,
      { ...ofNode, namespace },
      { transition: isSessionTransition, damps: hasOtherCounts },
    );
    this.bgp = new Reported(options, ServiceBGPStatus, ofNode);
    // Of all nodes: a Service has one object, whichever node announces it.
    this.l2 = new Reported(options, ServiceL2Status, {}, { yields: (existing) => this.#yields(existing) });
    this.l2.cache.subscribe(({ type, object }) => {
      const ownership = type === "deleted" ? undefined : this.#ownerships.get(keyOf(object));
      if (ownership && nodeOfReport(object) === node) ownership.isReported = true;
    });
  }

  get state(): KubeObject {
    return this.#states.get(this.#stateKey) ?? { metadata: parseKey(this.#stateKey) };
  }

  /** Owned by the Node. */
  configuration(finding?: ConfigurationResult, readProblem?: ConfigurationProblem): void {
    const nodeUid = this.surroundings.nodeUid();
    if (nodeUid === undefined) return this.#stateWriter.forget(this.#stateKey);
    this.#stateWriter.set(this.#stateKey, configurationState({ type: "speaker", node: this.#node, nodeUid }, finding, readProblem));
  }

  /** The sessions of FRR. A peer that FRR does not know yet has no report, unless FRR rejected it. */
  sessions(peers: Config["peers"], observed: readonly SessionState[] | undefined, rejected: ReadonlySet<string>): void {
    const { isNode, isPeer, nodeUid } = this.surroundings;
    const node = { name: this.#node, uid: nodeUid() };
    if (node.uid === undefined) return this.#sessions.forget();
    const byKey = observed && new Map(observed.map((session) => [sessionKey(session), session]));
    const exists = (other: string, peer: string) => isPeer(peer) && isNode(other);
    for (const peer of peers.values()) {
      const state = byKey ? (byKey.get(sessionKeyOf(peer)) ?? "not-configured") : "not-answering";
      const key = `${this.#namespace}/${sessionStatusName(this.#node, peer.name, exists)}`;
      if (state === "not-configured" && !rejected.has(peer.name)) this.#sessions.adopt(peer.name, key);
      else this.#sessions.set(peer.name, key, sessionStatus(peer, node, state));
    }
    for (const peer of this.#sessions.subjects()) if (!peers.has(peer)) this.#sessions.drop(peer);
    this.#sessions.sweep();
  }

  service(key: string, uid: string, reach: AnnouncedPeers): void {
    if (reach.all.length === 0 || this.#isNodeGone()) return this.bgp.drop(key);
    this.bgp.set(key, this.#bgpKey(key), serviceBgpStatus({ ...named(key), uid }, this.#node, reach));
  }

  hasBgpReport(service: string): boolean {
    return this.bgp.report(this.#bgpKey(service)) !== undefined;
  }

  hasL2Report(service: string): boolean {
    const report = this.l2.report(service);
    return report !== undefined && isAnnounced(report);
  }

  /** The L2 status of a Service; only the elected node writes it. */
  holder(
    key: string,
    uid: string,
    elected: Parameters<typeof serviceL2Status>[1] | undefined,
    stateOf: (address: Address) => AddressState,
    protection: FilterStatus,
  ): void {
    const ownership = elected && ownedSince(elected.addresses.map(stateOf));
    if (!(ownership instanceof Date)) this.#ownerships.delete(key);
    else if (this.#ownerships.get(key)?.since !== ownership.getTime())
      this.#ownerships.set(key, { since: ownership.getTime(), isReported: false });
    if (elected?.node !== this.#node || this.#isNodeGone()) return this.l2.drop(key);
    // The result follows in a moment.
    if (ownership === "asking" && !this.l2.report(key)) return this.l2.leave(key);
    this.l2.set(key, key, serviceL2Status({ ...named(key), uid }, elected, stateOf, protection));
  }

  #yields(existing: ServiceL2Status): boolean {
    const teller = nodeOfReport(existing);
    if (teller === undefined || teller === this.#node || !this.surroundings.isMember(teller)) return false;
    const ownership = this.#ownerships.get(keyOf(existing));
    return leavesTo(existing, { answers: ownership !== undefined, isReported: ownership?.isReported === true });
  }

  /** Nothing is reported for a deleted Node; the garbage collector deletes its reports. */
  #isNodeGone(): boolean {
    return this.surroundings.nodeUid() === undefined;
  }

  #bgpKey(key: string): string {
    const service = named(key);
    const { isNode, isService } = this.surroundings;
    return serviceBgpStatusKey(service, this.#node, (other, node) => isNode(node) && isService(`${service.namespace}/${other}`));
  }
}

class Reported<T extends KubeObject> {
  readonly cache: Cache<T>;
  readonly #writer: StatusWriter<T>;
  readonly #node: string;
  /** By subject, the object. */
  readonly #keys = new Map<string, string>();

  constructor(
    { manager, client, node, budget, log }: Options,
    kind: Kind<T>,
    selection: { namespace?: string; labelSelector?: string },
    rules: Pick<StatusRules<T>, "transition" | "yields" | "damps"> = {},
  ) {
    this.#node = node;
    this.cache = manager.cache(kind, selection);
    this.#writer = new StatusWriter<T>({ client, cache: this.cache, kind, budget, log, ...rules });
    manager.add(this.#writer, { phase: "writers" });
  }

  subjects(): string[] {
    return [...this.#keys.keys()];
  }

  set(subject: string, key: string, picture: Parameters<StatusWriter<T>["set"]>[1]): void {
    const before = this.#keys.get(subject);
    if (before !== undefined && before !== key) this.#delete(before);
    this.#keys.set(subject, key);
    this.#writer.set(key, picture);
  }

  /** The report of an earlier run stays for now. */
  adopt(subject: string, key: string): void {
    this.#keys.set(subject, key);
  }

  drop(subject: string): void {
    const key = this.#keys.get(subject);
    if (key === undefined) return;
    this.#keys.delete(subject);
    this.#delete(key);
  }

  /** Writes nothing for now; the existing report stays. */
  leave(subject: string): void {
    const key = this.#keys.get(subject);
    if (key !== undefined) this.#writer.forget(key);
    this.#keys.delete(subject);
  }

  forget(): void {
    for (const key of this.#keys.values()) this.#writer.forget(key);
    this.#keys.clear();
  }

  /** Deletes reports of an earlier run that are no longer current. */
  sweep(): void {
    const current = new Set(this.#keys.values());
    for (const object of this.cache.list()) if (!current.has(keyOf(object)) && this.#isOurs(object)) this.#delete(keyOf(object));
  }

  /** The reports of an earlier run. */
  report(key: string): T | undefined {
    const existing = this.cache.get(key);
    return existing && this.#isOurs(existing) ? existing : undefined;
  }

  /** It may belong to another node by now. */
  #delete(key: string): void {
    this.#writer.delete(key, (object) => this.#isOurs(object));
  }

  #isOurs(object: KubeObject): boolean {
    return nodeOfReport(object) === this.#node;
  }
}

function isSessionTransition(existing: StatusOf<BGPSessionStatus>, next: StatusOf<BGPSessionStatus>): boolean {
  const isSame = existing.bgpStatus === next.bgpStatus && existing.bfdStatus === next.bfdStatus;
  if (isSame) return !isDeepStrictEqual(missingOf(existing), missingOf(next));
  return existing.since === undefined || Date.now() - Date.parse(existing.since) > FLAPPING_MS;
}

/** Prefixes come and go with Services and with a session that flaps. */
function hasOtherCounts(existing: StatusOf<BGPSessionStatus>, next: StatusOf<BGPSessionStatus>): boolean {
  return isDeepStrictEqual({ ...existing, prefixes: undefined }, { ...next, prefixes: undefined });
}

function missingOf({ prefixes = [] }: StatusOf<BGPSessionStatus>): string[] {
  return prefixes.flatMap(({ missing = [] }) => missing);
}

function named(key: string): { name: string; namespace: string } {
  const { name, namespace = "" } = parseKey(key);
  return { name, namespace };
}
