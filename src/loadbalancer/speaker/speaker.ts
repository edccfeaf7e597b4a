import { isDeepStrictEqual } from "node:util";
import type { Address } from "../../ip/address.ts";
import { backoffMs } from "../../util/backoff.ts";
import type { Result } from "../../kube/controller/controller.ts";
import type { Log } from "../../kube/log.ts";
import { configLoaded, configStale } from "../metrics.ts";
import { StateError } from "../../resilience/state-file.ts";
import type { Failure } from "../../resilience/failure.ts";
import { announcingNode } from "../announcement/l2-election.ts";
import { peersOf } from "../announcement/peers.ts";
import type { Config } from "../config/config.ts";
import { type LastGoodConfig, type Loaded, loadConfig } from "../config/load.ts";
import type { ConfigObjects } from "../config/objects.ts";
import type { ConfigurationProblem } from "../reasons.ts";
import type { NodeView, ServiceView } from "../services/service-view.ts";
import { Announcements, type AffectedServices } from "./announcements.ts";
import { affectedBy, isRejected, NOTHING_REJECTED, type RejectedAnnouncements } from "./bgp/rejected.ts";
import { sessionKeyOf } from "./bgp/sessions.ts";
import type { BgpDriver, SpeakerBackends } from "./drivers.ts";
import type { HeartbeatTimes } from "./l2/liveness.ts";
import { configurationResult, joinProblems, lastGoodOf, secretsUnread, unavailable } from "./configuration-result.ts";
import type { StatusWriters } from "./status-writers.ts";
import type { SpeakerStateStore } from "./stored-decisions.ts";
import type { SpeakerEvents } from "./events.ts";

interface Options {
  node: string;
  drivers: SpeakerBackends;
  reports: StatusWriters;
  memory: SpeakerStateStore;
  speakerEvents: SpeakerEvents;
  /** FRR, or the addresses on the local network, have to be updated. */
  ring(what: "bgp" | "l2"): void;
  log: Log;
}

const UNAVAILABLE = { minMs: 250, maxMs: 15_000 };
const REJECTED = { minMs: 500, maxMs: 60_000 };
const NOTHING = { failures: [], changed: 0, drift: [] };
/** How long Services are decided without a pause: heartbeats and lifetimes of addresses must not wait. */
const TURN_MS = 10;

export class Speaker {
  readonly announcements: Announcements;
  readonly #options: Options;
  #bgp: BgpDriver | undefined;
  #loaded: Loaded | undefined;
  #rejected: readonly Failure[] = [];
  #rejections = NOTHING_REJECTED;
  /** The peers configured in FRR. */
  #neighbors: ReadonlySet<string> = new Set();
  #internalIPv4: string | undefined;
  /** Why the configuration may be outdated or not effective. */
  #unread: ConfigurationProblem | undefined;
  #unavailable: ConfigurationProblem | undefined;
  #failures = 0;
  #carriedOut = false;
  /** The restored heartbeat states of the other candidates; undefined until they are read. */
  #heartbeats: HeartbeatTimes | undefined;
  /** The Services that existed at start: an earlier run may have recorded Events for them. */
  readonly #fromBefore = new Set<string>();

  constructor(options: Options) {
    this.#options = options;
    this.announcements = new Announcements(options.node);
  }

  async load(objects: ConfigObjects, readProblem: ConfigurationProblem | undefined): Promise<void> {
    const { node } = this.#options;
    this.#unread = readProblem;
    this.#loaded = loadConfig(objects, { view: { of: "node", node }, lastGood: await this.#lastGood(), now: new Date() });
    await this.#decide(this.announcements.configure(this.#loaded.config));
    this.#options.ring("bgp");
  }

  /** Without the last good versions, resources that are invalid now would be withdrawn. */
  async #lastGood(): Promise<LastGoodConfig> {
    try {
      return await this.#options.memory.lastGood();
    } catch (error) {
      if (error instanceof StateError) {
        this.#unread = { reason: "StateFileError", message: error.message };
        this.publish();
      }
      throw error;
    }
  }

  async updateNodes(nodes: ReadonlyMap<string, NodeView>, internalIPv4: string | undefined): Promise<void> {
    // It identifies the node in BGP. A Node object that is briefly gone must not reset all sessions.
    const isOther = nodes.has(this.#options.node) && this.#internalIPv4 !== internalIPv4;
    if (isOther) this.#internalIPv4 = internalIPv4;
    await this.#decide(this.announcements.setNodes(nodes));
    if (isOther) this.#options.ring("bgp");
  }

  /** Live agents by the controller; undefined: not known yet, and until then no address is acquired or released. */
  async members(live: ReadonlySet<string> | undefined): Promise<void> {
    if (live) await this.#decide(this.announcements.members(live));
  }

  /** While the members are unknown, any node may be one. */
  isMember(node: string): boolean {
    return this.announcements.live?.has(node) ?? true;
  }

  service(key: string, view: ServiceView | undefined): void {
    const before = this.announcements.services.get(key);
    if (view && !this.#loaded) this.#fromBefore.add(key);
    if (!view) this.#fromBefore.delete(key);
    this.announcements.put(key, view);
    const change = this.announcements.decide(key);
    // An object with the same name has another uid.
    const isOther = view !== undefined && before !== undefined && view.uid !== before.uid;
    if (change.bgp || change.l2 || isOther) this.#publishService(key);
    if (change.bgp) this.#options.ring("bgp");
    if (change.l2) this.#options.ring("l2");
    if (!view) this.#options.speakerEvents.forget(key);
    if (!view !== !before) for (const kin of this.announcements.kin(key)) this.#publishService(kin);
  }

  async #decide(affected: AffectedServices | undefined): Promise<void> {
    if (!affected || !this.announcements.config) return;
    const { reports } = this.#options;
    const isAll = affected.tell === "all";
    const changed = { bgp: isAll, l2: isAll };
    let begun = performance.now();
    for (const key of affected.services) {
      const { bgp, l2 } = this.announcements.decide(key, affected.what);
      changed.bgp ||= bgp;
      changed.l2 ||= l2;
      if (isAll || bgp || l2) this.#publishService(key);
      if (performance.now() - begun < TURN_MS) continue;
      await new Promise(setImmediate);
      begun = performance.now();
    }
    if (changed.bgp) this.#options.ring("bgp");
    if (changed.l2) this.#options.ring("l2");
    reports.bgp.sweep();
    if (this.announcements.live) reports.l2.sweep();
  }

  async carryOutBgp(signal: AbortSignal): Promise<Result> {
    const { node, drivers, memory, log } = this.#options;
    const { config, bgp } = this.announcements;
    const loaded = this.#loaded;
    if (!config || !loaded) return;
    try {
      const ownNode = { name: node, ...(this.#internalIPv4 !== undefined && { internalIPv4: this.#internalIPv4 }) };
      this.#bgp ??= drivers.bgp(await memory.applied());
      // Without peers FRR need not run; but one that runs may have sessions that this agent does not know.
      const isIdle = config.peers.size === 0 && config.extras === "" && this.#bgp.applied.length === 0 && !drivers.sessions()?.length;
      const wanted = { config, node: ownNode, services: bgp, lostVrfs: drivers.takeLostVrfs() };
      const { failures, changed, drift } = isIdle ? NOTHING : await this.#bgp.apply(wanted, signal);
      this.#rejected = failures;
      drivers.wantPrefixes(this.#bgp.wanted);
      this.#leavePeers(config.peers);
      this.#leaveOut(isIdle ? NOTHING_REJECTED : this.#bgp.rejections);
      this.#unavailable = undefined;
      this.#carriedOut = true;
      if (changed > 0) log.info({ changed }, "FRR changed");
      this.#options.speakerEvents.drift(drift);
      await this.#keep({ lastGood: lastGoodOf(loaded.lastGood, failures, await memory.lastGood()), applied: this.#bgp.applied });
    } catch (error) {
      signal.throwIfAborted();
      if (!this.#unavailable) log.warn({ error }, "cannot configure FRR");
      this.#unavailable = unavailable(error);
    }
    this.publish();
    this.publishSessions();
    return this.#next();
  }

  /** A peer that is removed and added again starts with a new session state. */
  #leavePeers(peers: Config["peers"]): void {
    const neighbors = new Set(Array.from(peers.values(), sessionKeyOf));
    this.#options.drivers.forgetSessions(this.#neighbors.difference(neighbors));
    this.#neighbors = neighbors;
  }

  /** Rejected prefixes are not announced. */
  #leaveOut(rejections: RejectedAnnouncements): void {
    const affected = affectedBy(this.#rejections, rejections) ?? this.announcements.bgp.keys();
    this.#rejections = rejections;
    for (const key of affected) this.#publishService(key);
  }

  async carryOutL2(): Promise<void> {
    const { drivers, memory } = this.#options;
    await this.#recall();
    // Addresses from before a restart are kept until the elected node is known.
    if (!this.announcements.live) return drivers.l2.set(await memory.addresses());
    const addresses = [...this.announcements.addresses()];
    drivers.l2.set(addresses);
    await this.#keep({ addresses });
    await this.publishHolders();
  }

  /** Writes what FRR has to disk, also after an interrupted pass. */
  async saveState(): Promise<void> {
    if (!this.#bgp) return;
    try {
      await this.#keep({ applied: this.#bgp.applied });
      await this.#bgp.bootFileWritten();
    } catch (error) {
      this.#options.log.warn({ error }, "cannot write the FRR state file; the next agent reads FRR instead");
    }
  }

  /** What cannot be written stays in memory, and is written with the next state. */
  async #keep(known: Parameters<SpeakerStateStore["keep"]>[0]): Promise<void> {
    const { memory } = this.#options;
    const before = memory.problem;
    try {
      await memory.keep(known);
    } catch (error) {
      if (!(error instanceof StateError)) throw error;
    }
    if (memory.problem !== before) this.publish();
  }

  /** Once, before anything is wanted: restores the heartbeat states of the earlier agent. */
  async #recall(): Promise<void> {
    if (this.#heartbeats) return;
    // A state that cannot be read does not keep addresses from being announced; the write reports it.
    this.#heartbeats = await this.#options.memory.pulses().catch(() => new Map<string, never>());
    this.#options.drivers.l2.candidates.remember(this.#heartbeats);
  }

  publish(): void {
    const { reports, memory, speakerEvents: events } = this.#options;
    events.memory(memory.problem);
    const forgetful = memory.problem === undefined ? undefined : ({ reason: "StateFileError", message: memory.problem } as const);
    const readProblem = joinProblems([this.#unread, secretsUnread(this.#loaded?.unread ?? []), this.#unavailable, forgetful]);
    if (!this.#loaded || !(this.#carriedOut || this.#unavailable)) return reports.configuration(undefined, readProblem);
    const finding = configurationResult(this.#loaded, this.#rejected, this.#bgp?.applied ?? []);
    configLoaded.set(1);
    configStale.set(finding.failures.length > 0 || readProblem ? 1 : 0);
    reports.configuration({ ...finding, lostLinks: this.#options.drivers.l2.lostLinks() }, readProblem);
  }

  publishSessions(): void {
    const { config } = this.announcements;
    const rejected = new Set(this.#rejected.filter(({ kind }) => kind === "BGPPeer").map(({ name }) => name));
    if (config) this.#options.reports.sessions(config.peers, this.#options.drivers.sessions(), rejected);
  }

  /** Members and owners may have changed for any Service. */
  async publishHolders(): Promise<void> {
    const { drivers, speakerEvents: events } = this.#options;
    for (const key of this.announcements.l2.keys()) this.#publishHolder(key);
    const { strangers, pulses } = drivers.l2.candidates;
    events.strangers(strangers);
    if (!this.#heartbeats || isDeepStrictEqual(pulses, this.#heartbeats)) return;
    await this.#keep({ pulses });
    this.#heartbeats = pulses;
  }

  #publishService(key: string): void {
    const { reports, speakerEvents: events } = this.#options;
    const { bgp, services, config } = this.announcements;
    if (!config) return;
    const { uid = "", addresses = [] } = services.get(key) ?? {};
    const reach = peersOf(bgp.get(key) ?? [], config.peers, (one, peer) => isRejected(this.#rejections, key, one, peer));
    const heard = addresses.filter(({ family }) => (family === 4 ? reach.IPv4 : reach.IPv6).length > 0);
    events.announced(key, uid, "bgp", heard, () => this.#fromBefore.has(key) && reports.hasBgpReport(key));
    reports.service(key, uid, reach);
    this.#publishHolder(key);
  }

  #publishHolder(key: string): void {
    if (!this.announcements.live) return;
    const { drivers, reports, speakerEvents: events, node } = this.#options;
    const { services, l2 } = this.announcements;
    const uid = services.get(key)?.uid ?? "";
    const candidate = l2.get(key);
    const eligible = candidate ? drivers.l2.candidates.eligible(candidate.candidates, candidate.addresses) : [];
    const announces = candidate && announcingNode(candidate.candidates, eligible) === node;
    const elected = announces ? { ...candidate, node, candidates: eligible } : undefined;
    const stateOf = (address: Address) => drivers.l2.state(address);
    const states = elected?.addresses.map((address) => ({ address, state: stateOf(address) })) ?? [];
    // After a restart the addresses on the links are not read yet; until then the last report stays.
    if (states.some(({ state }) => state.is === "standby") && reports.hasL2Report(key)) return reports.l2.adopt(key, key);
    const owned = states.filter(({ state }) => state.is === "holding").map(({ address }) => address);
    events.announced(key, uid, "layer2", owned, () => this.#fromBefore.has(key) && reports.hasL2Report(key));
    const ownStates = states.map(({ state }) => state);
    events.announceFailed(key, uid, ownStates);
    reports.holder(key, uid, elected, stateOf, drivers.l2.protection());
  }

  #next(): Result {
    const isUnusable = this.#unavailable !== undefined || this.#options.memory.problem !== undefined;
    const retried = isUnusable || this.#rejected.some((failure) => failure.class === "Transient");
    this.#failures = retried ? this.#failures + 1 : 0;
    if (retried) return { requeueAfter: backoffMs(this.#failures, isUnusable ? UNAVAILABLE : REJECTED) };
  }
}
