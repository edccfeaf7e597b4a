import { namespaceIdentity } from "../../hostnet/namespaces.ts";
import type { Runnable } from "../../kube/controller/controller.ts";
import type { Log } from "../../kube/log.ts";
import { sleep } from "../../util/sleep.ts";
import { exportsOf, forgetLosses, keyOf, observe, type PairId, type PairStates, retain } from "./pairs.ts";
import { forgetTrains, lossPercents, observeTrains, requiredSize, SMALLER, type Trains, vtepPairs } from "./datagrams.ts";
import { choosePairs, type FramePair, type PairChoice, SMALL_FRAME } from "./pair-choice.ts";
import { NOTHING_PROBED, type ProbeReport, probeReport } from "./probe-report.ts";
import { macOf, ProbeRoutes } from "./probe-routes.ts";
import { ProbeSocket } from "./probe-socket.ts";
import { overlayReachable, overlayReport } from "./report-overlay.ts";
import { planTick, SLOTS, TICK_MS } from "./tick.ts";

export interface LocalVni {
  readonly vni: number;
  readonly type: "L2" | "L3";
  readonly bridge: string;
  readonly vxlan: string;
  /** Changes when the bridge or the VXLAN device is recreated: our entries are gone with the old one. */
  readonly devices: string;
  readonly mtu: number;
  /** The fingerprint of the route targets that an L3VNI both exports and imports. */
  readonly imports?: number;
}

export interface ProbePeer {
  readonly node: string;
  readonly vtep: string;
  readonly key: Buffer;
  readonly isLive: boolean;
}

export interface ProbeInputs {
  readonly index: number;
  readonly vtep: string;
  readonly vnis: readonly LocalVni[];
  /** By node index, those that have a VNI in common with this node. */
  readonly peers: ReadonlyMap<number, ProbePeer>;
  /** The node indexes that have a VNI applied, by VNI. */
  readonly members: ReadonlyMap<number, readonly number[]>;
  /** The peers whose EVPN routes FRR should have and does not, by VNI: in an L3VNI their router MAC. */
  readonly lacking: ReadonlyMap<number, readonly number[]>;
  /** The fingerprint of the route targets with which this node announces prefixes, by L3VNI: peers should have its router MAC. */
  readonly exports: ReadonlyMap<number, number>;
  /** The router MAC of a VTEP in an L3VNI, as FRR knows it. */
  readonly routerMac: (vni: number, vtep: string) => string | undefined;
}

const REFRESH_MS = 5_000;
/** A busy node answers late; that is no loss. Rounds overlap. */
const WAIT_MS = 2_000;
/** The rotating peer changes after this many intervals. */
const TURN_INTERVALS = 3;

export interface Pair {
  readonly peer: number;
  readonly where: number;
  readonly vni: LocalVni;
}

/** With which route targets a peer says that it announces prefixes in an L3VNI; undefined while it says nothing. */
export type ExportsOf = (vni: number, peer: number) => number | undefined;

export interface ProberOptions {
  readonly netns: string;
  readonly log: Log;
  /** What there is to probe now; undefined while there is nothing. */
  observe(exportsOf: ExportsOf, signal: AbortSignal): Promise<ProbeInputs | undefined>;
  /** A pair has begun to fail, to work, or to be unknown. */
  onChange(): void;
  /** Received probes that were not answered. */
  onDropped(reason: string, count: number): void;
}

/** Probes the overlay from this node: each second a tenth of the pairs, and those that lost their last probe. */
export class OverlayProber implements Runnable {
  readonly name = "overlay probes";
  readonly #options: ProberOptions;
  readonly #socket: ProbeSocket;
  readonly #routes: ProbeRoutes;
  #inputs: ProbeInputs | undefined;
  #observed = false;
  /** The process, and the namespace that it was started in. */
  #running: { readonly namespace: string; readonly stop: AbortController; readonly ended: Promise<void> } | undefined;
  #refreshAt = 0;
  #choice: PairChoice | undefined;
  /** Since when there is no result of a pair, by key. */
  #wanted: ReadonlyMap<string, number> = new Map();
  #states: PairStates = new Map();
  #trains: Trains = new Map();
  /** Percent, by peer. */
  #loss: ReadonlyMap<number, number> = new Map();
  /** By peer, since when its agent is known to be alive. */
  #liveSince: ReadonlyMap<number, number> = new Map();
  #tick = 0;
  #printed = "";

  constructor(options: ProberOptions) {
    this.#options = options;
    this.#socket = new ProbeSocket(options.netns, options.log, {
      onStart: () => this.#routes.restart(),
      onUnrouted: (device, peer) => this.#inputs && this.#routes.answerTo(this.#inputs, device, peer),
      onDropped: (reason, count) => options.onDropped(reason, count),
    });
    this.#routes = new ProbeRoutes(options.netns, this.#socket);
  }

  /** Undefined until it is known what to probe. */
  get report(): ProbeReport | undefined {
    const inputs = this.#inputs;
    if (!inputs) return this.#observed ? NOTHING_PROBED : undefined;
    return probeReport({
      inputs,
      pairs: this.#allPairs(inputs),
      vtepPeers: this.#vteps,
      states: this.#states,
      trains: this.#trains,
      loss: this.#loss,
      wanted: this.#wanted,
      liveSince: this.#liveSince,
      now: performance.now(),
    });
  }

  /** Links have changed: what to probe is read at the next tick. */
  refresh(): void {
    this.#refreshAt = 0;
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#probe(signal);
    await this.#running?.ended;
  }

  /** Runs while there is something to probe. A process in a namespace that was deleted would keep it, and its links, alive. */
  async #startOrStop(signal: AbortSignal): Promise<void> {
    const namespace = this.#inputs && (await namespaceIdentity(this.#options.netns));
    if (this.#running && this.#running.namespace !== namespace) {
      this.#running.stop.abort();
      await this.#running.ended;
      this.#running = undefined;
    }
    if (this.#running || namespace === undefined || signal.aborted) return;
    const stop = new AbortController();
    this.#running = { namespace, stop, ended: this.#socket.run(AbortSignal.any([signal, stop.signal])) };
  }

  async #probe(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const started = performance.now();
      try {
        await this.#refresh(signal);
        this.#choose();
        await this.#startOrStop(signal);
        if (this.#inputs && this.#socket.isReady) await this.#oneTick(this.#inputs, signal);
        else this.#noteChange();
      } catch (error) {
        if (signal.aborted) return;
        this.#options.log.warn({ error }, "cannot probe the overlay");
      }
      const left = TICK_MS * (0.95 + Math.random() / 10) - (performance.now() - started);
      await sleep(Math.max(left, 10), signal).catch(() => {});
    }
  }

  async #refresh(signal: AbortSignal): Promise<void> {
    if (performance.now() < this.#refreshAt) return;
    this.#refreshAt = performance.now() + REFRESH_MS;
    try {
      const now = performance.now();
      const exports: ExportsOf = (where, peer) => exportsOf(this.#states, { peer, where, size: SMALL_FRAME }, now);
      this.#inputs = await this.#options.observe(exports, signal);
      this.#observed = true;
      const live = [...(this.#inputs?.peers ?? [])].filter(([, { isLive }]) => isLive);
      this.#liveSince = new Map(live.map(([peer]) => [peer, this.#liveSince.get(peer) ?? performance.now()]));
    } catch (error) {
      // While FRR or the kernel does not answer, what was known before is probed.
      if (!signal.aborted) this.#options.log.warn({ error }, "cannot read what to probe");
      // What FRR announces and lacks is not known then.
      if (this.#inputs) this.#inputs = { ...this.#inputs, exports: new Map(), lacking: new Map() };
    }
  }

  async #oneTick(inputs: ProbeInputs, signal: AbortSignal): Promise<void> {
    this.#tick += 1;
    await this.#routes.prepare(inputs, this.#pairs, signal);
    const now = performance.now();
    const slot = this.#tick % SLOTS;
    const plan = planTick({
      inputs,
      pairs: this.#pairs,
      vtepPeers: this.#vteps,
      states: this.#states,
      trains: this.#trains,
      slot,
      now,
    });
    const vtepOf = (peer: number) => inputs.peers.get(peer)?.vtep;
    const lines = plan.frames.map(({ peer, vni }) => {
      const mac = macOf(inputs, vni, peer).replaceAll(":", "");
      return (round: number) => `frame ${round} ${peer} ${vni.bridge} ${mac} ${SMALL_FRAME}`;
    });
    for (const { peer, size } of plan.datagrams) lines.push((round) => `datagram ${round} ${peer} ${vtepOf(peer)} ${size}`);
    for (const peer of plan.pings) lines.push((round) => `ping ${round} ${peer} ${vtepOf(peer)}`);
    if (slot === 0) this.#forget(inputs, now);
    void this.#socket.round(lines, now, WAIT_MS, signal).then((results) => {
      this.#states = observe(this.#states, results);
      this.#trains = observeTrains(this.#trains, results, now);
      this.#loss = lossPercents(this.#trains, this.#loss);
      this.#noteChange();
    });
  }

  get #pairs(): readonly FramePair[] {
    return this.#choice?.pairs ?? [];
  }

  get #vteps(): readonly number[] {
    return this.#choice?.vteps ?? [];
  }

  #choose(): void {
    const turn = Math.floor(this.#tick / (SLOTS * TURN_INTERVALS));
    const before = new Set(this.#vteps);
    this.#choice = this.#inputs && choosePairs(this.#inputs, turn, this.#choice, { states: this.#states, trains: this.#trains });
    const begun = this.#vteps.filter((peer) => !before.has(peer));
    if (begun.length > 0) this.#states = forgetLosses(this.#states, begun, performance.now());
    const all = this.#inputs ? this.#allPairs(this.#inputs).map(keyOf) : [];
    const missing = all.filter((key) => !this.#states.has(key));
    this.#wanted = new Map(missing.map((key) => [key, this.#wanted.get(key) ?? performance.now()]));
  }

  #allPairs(inputs: ProbeInputs): PairId[] {
    const required = requiredSize(inputs);
    return [...this.#pairs, ...this.#vteps.flatMap((peer) => vtepPairs(peer, required))];
  }

  #forget(inputs: ProbeInputs, now: number): void {
    const smaller = this.#vteps.flatMap((peer) => SMALLER.map((size) => keyOf({ peer, where: "udp", size })));
    this.#states = retain(this.#states, new Set([...this.#allPairs(inputs).map(keyOf), ...smaller]), now);
    this.#trains = forgetTrains(this.#trains, now);
  }

  #noteChange(): void {
    const report = this.report && overlayReport(this.report);
    // Which nodes are probed changes every turn.
    const { status, message } = overlayReachable(report);
    const printed = JSON.stringify([
      status,
      message,
      report?.failing.map((path) => path.message),
      report?.unobserved,
      report?.deadVnis,
      (report?.reached ?? 0) > 0,
    ]);
    if (printed === this.#printed) return;
    this.#printed = printed;
    this.#options.onChange();
  }
}
