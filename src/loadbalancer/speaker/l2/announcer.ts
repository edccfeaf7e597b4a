import { KernelError } from "../../../hostnet/error.ts";
import type { Address } from "../../../ip/address.ts";
import { parseAddress } from "../../../ip/address.ts";
import { pause } from "../../../util/sleep.ts";
import type { Runnable } from "../../../kube/controller/controller.ts";
import type { Log } from "../../../kube/log.ts";
import { l2Addresses, l2Conflicts, l2RefreshFailures, l2Takeovers } from "../../metrics.ts";
import { DEVICE } from "./ip-address-commands.ts";
import { Doorbell } from "../../../util/wake-signal.ts";
import type { Said } from "./frames.ts";
import { countAsked, countGratuitous, forgetCounts } from "./frame-counts.ts";
import { groundOf, type Ground } from "./backends.ts";
import { Guard, type Protection } from "./nft-filter.ts";
import { Heartbeats, type HeartbeatKeys } from "./heartbeats.ts";
import { MachinePauses } from "./machine-pauses.ts";
import type { Nic, Observed } from "./interfaces.ts";
import { placeOf, withoutInterface, type L2Wanted } from "./select-interfaces.ts";
import { Tenures } from "./owned-addresses.ts";
import type { Sought, Spot, Standing, Steps } from "./address-ownership.ts";

const BREATH_MS = 10;
const RETRY_MS = 1_000;
/** Links change in bursts. */
const SETTLE_MS = 100;
/** How often links and routes are read again while addresses are held. */
const RESYNC_MS = 10_000;
const REFUSED_AGAIN_MS = 5_000;
const HEARTBEAT_PORT = 7947;

export type L2State = Standing | { readonly is: "standby" };

export interface L2Options {
  readonly node: string;
  readonly netns?: string | undefined;
  /** The nodes, each with its addresses. */
  readonly peers: () => ReadonlyMap<string, readonly string[]>;
  /** Whether its agent lives, as the controller sees it; without it, all of them. */
  readonly isMember?: (node: string) => boolean;
  readonly keys: HeartbeatKeys;
  /** A state, who is alive, or the protection has changed. */
  readonly onChange: () => void;
  readonly log: Log;
  readonly heartbeatPort?: number;
  /** Ports, or ranges of them such as `8000-8100`, on which something on the node itself stands in for kube-proxy. */
  readonly exemptPorts?: readonly string[];
}

/** Answers on the node's segments for the addresses that it is elected for, which are on a link of their own. */
export class L2Announcer implements Runnable {
  readonly name = "l2-announcer";
  readonly #options: L2Options;
  readonly #tenures: Tenures;
  readonly #ground: Ground;
  readonly #wire: ReturnType<Ground["wire"]>;
  readonly #guard: Guard;
  /** Who else could answer, and who of them lives. */
  readonly candidates: Heartbeats;
  readonly #told = new Map<string, string>();
  #wanted: ReadonlyMap<string, L2Wanted> | undefined;
  #unfit = new Map<string, string>();
  #observed: Observed | undefined;
  #stale = true;
  #readAt = 0;
  /** Where the kernel answered for the agent before us, until its addresses are ours; undefined: everywhere. */
  #selectedBefore: ReadonlySet<string> | undefined;
  /** Frames may not have been answered for a while. */
  #lapsed = false;
  #respotted = false;
  /** A state may have changed. */
  #moved = false;
  readonly #bell = new Doorbell();
  readonly #pauses = new MachinePauses();

  constructor(options: L2Options, ground: Ground = groundOf(options.netns, options.heartbeatPort ?? HEARTBEAT_PORT, options.log)) {
    const { node, peers, isMember = () => true, keys, log, exemptPorts = [] } = options;
    this.#options = options;
    this.#ground = ground;
    this.#tenures = new Tenures(node, (spot) => this.#kernelAnswers(spot));
    this.#guard = new Guard({ nft: (text, signal) => ground.nft(text, signal), exemptPorts, log, onApplied: () => this.#move() });
    this.#wire = ground.wire({
      onStart: () => {
        this.#tenures.deaf(performance.now());
        this.#lapse();
        this.#move();
      },
      onLapse: () => this.#lapse(),
      onEnd: () => this.#move(),
      onSaid: (said, device) => this.#hear(said, device),
      onAsked: (address, device, times) => countAsked(address, this.#tenures.standing(address), device, times),
      onDatagram: (bytes, from) => this.candidates.take(bytes, from),
      onFailed: (device, words) => this.#tenures.unsent(device, `frames cannot be sent: ${words}`, performance.now()),
    });
    this.candidates = new Heartbeats({
      node,
      peers,
      isMember,
      keys,
      log,
      macs: () => this.#observed?.rows.filter(({ fits }) => fits).map(({ mac }) => mac) ?? [],
      send: (address, bytes, source) => this.#wire.send(address, bytes, source),
      listenTo: (addresses) => this.#wire.listenTo(addresses),
      isDeaf: () => !this.#wire.isUp,
      onChange: () => {
        this.#elect();
        options.onChange();
      },
      onLetGo: () => {
        this.#tenures.hurry(performance.now());
        this.#bell.ring();
      },
    });
  }

  /** All addresses for which this node is a candidate, in place of those before. */
  set(wanted: readonly L2Wanted[]): void {
    this.#wanted = new Map(wanted.map((one) => [String(one.address), one]));
    this.candidates.partners = new Set(wanted.flatMap(({ candidates }) => (candidates.includes(this.#options.node) ? candidates : [])));
    this.#elect();
  }

  state(address: Address): L2State {
    const words = this.#unfit.get(String(address));
    if (words !== undefined) return { is: "refused", words };
    const standing = this.#tenures.standing(address) ?? { is: "standby" };
    const { fault } = this.#wire;
    return standing.is === "probing" && fault !== undefined ? { is: "refused", words: `nobody can be asked for it: ${fault}` } : standing;
  }

  protection(): Protection {
    return this.#guard.protection;
  }

  async run(signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    const running = AbortSignal.any([signal, stop.signal]);
    const onLinks = () => {
      this.#stale = true;
      this.#bell.ring();
    };
    try {
      await Promise.all([
        this.#wire.run(running),
        this.#guard.run(running),
        this.candidates.run(running),
        this.#ground.watch(onLinks, running),
        this.#turn(running),
      ]);
    } finally {
      stop.abort();
    }
    await this.#ground.links.outlast(this.#tenures.held, this.#tenures.leaving);
  }

  /** The one loop that touches addresses. It waits for nobody but the kernel. */
  async #turn(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // Route changes wake nothing: the router changes its own all the time.
      if (performance.now() - this.#readAt >= RESYNC_MS && this.#tenures.held.length > 0) this.#stale = true;
      // Where links cannot be looked at, the addresses on them still live on.
      const failed = [
        this.#stale && (await this.#tried(this.#look(signal), signal)),
        this.#observed && (await this.#tried(this.#act(signal), signal)),
      ];
      if (failed.includes(true)) await pause(RETRY_MS * (0.5 + Math.random()), signal).catch(() => {});
      this.#tell();
      const now = performance.now();
      await this.#bell.wait(Math.max(this.#tenures.due(now) - now, BREATH_MS), signal);
    }
  }

  async #tried(work: Promise<void>, signal: AbortSignal): Promise<boolean> {
    try {
      await work;
      return false;
    } catch (error) {
      if (signal.aborted) return true;
      if (!(error instanceof KernelError)) throw error;
      l2RefreshFailures.inc();
      this.#options.log.warn({ error }, "addresses could not be looked after; tried again in a second");
      return true;
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    if (this.#observed) await pause(SETTLE_MS, signal);
    this.#stale = false;
    this.#readAt = performance.now();
    const first = this.#observed === undefined;
    try {
      const seen = await this.#ground.links.look(signal);
      if (first && seen.ours.length > 0) this.#selectedBefore = await this.#ground.selected(signal);
      this.#observed = seen;
    } catch (error) {
      this.#stale = true;
      throw error;
    }
    const { ours } = this.#observed;
    if (first) for (const { address, nic, validSeconds } of ours) this.#adopt({ address: parseAddress(address), nic }, validSeconds);
    this.#tenures.present(new Set(ours.filter(({ nic }) => nic.name === DEVICE).map(({ address }) => address)));
    if (this.#lapsed) this.#tenures.unanswered(performance.now());
    this.#lapsed = false;
    this.#elect();
  }

  #adopt(spot: Spot, validSeconds: number): void {
    this.#tenures.adopt(spot, validSeconds, performance.now());
    this.#options.log.info({ address: String(spot.address), interface: spot.nic.name }, "address found on its link; it is kept");
  }

  /** Decides anew which addresses are for this node. Until somebody says what is wanted, what was left by the agent before stays. */
  #elect(): void {
    const seen = this.#observed;
    if (!seen) return;
    if (this.#wanted) {
      this.candidates.unable = withoutInterface(this.#wanted.values(), seen);
      const unfit = new Map<string, string>();
      const sought: Sought[] = [];
      const own = this.#options.peers().get(this.#options.node) ?? [];
      for (const [text, wanted] of this.#wanted) {
        const { address, candidates } = wanted;
        if (this.candidates.eligible(candidates, [address])[0] !== this.#options.node) continue;
        const place = placeOf(wanted, seen, own);
        if ("nics" in place) sought.push({ address, nics: place.nics, candidates });
        else unfit.set(text, place.obstacle);
      }
      this.#unfit = unfit;
      this.#tenures.seek(sought, performance.now());
      this.#selectedBefore = undefined;
    }
    this.#respotted = true;
    this.#move();
  }

  async #act(signal: AbortSignal): Promise<void> {
    const pausedMs = this.#pauses.since();
    if (pausedMs > 0) {
      for (const { address, nic } of this.#tenures.held) this.#wire.mute(address, nic);
      this.#lapse();
      this.#tenures.aged(pausedMs);
    }
    this.#wire.renew();
    // What is decided here goes to the kernel in the same tick: nothing may come between looking at the age of an address and having it live on.
    const steps = this.#tenures.step(performance.now(), (spot) => this.#guard.isGuarded(spot));
    const changing = this.#change(steps, signal);
    for (const { address, nic } of steps.drop) this.#wire.mute(address, nic);
    this.#surround(steps.drop);
    for (const { address, nic } of steps.probe) this.#wire.probe(address, nic);
    for (const { address, nic } of steps.check) this.#wire.check(address, nic);
    for (const { address, nic } of steps.announce) this.#announce(address, nic);
    if (steps.listened.length > 0) void this.#believe(steps.listened);
    await changing;
    if (steps.drop.length > 0) {
      this.#respotted = true;
      this.#surround([]);
      this.candidates.tellLetGo();
      for (const { address } of steps.drop) forgetCounts(address);
    }
    this.#moved ||= [steps.drop, steps.add, steps.probe, steps.listened, steps.relieved].some(({ length }) => length > 0);
  }

  #announce(address: Address, nic: Nic): void {
    // Its MAC may have changed.
    if (!this.#lapsed) this.#wire.answer(address, nic);
    this.#wire.announce(address, nic);
    countGratuitous(address);
  }

  /** Rules come before an address, and go after it. Until it is known what is wanted, and where, those of the agent before stay. */
  #surround(leaving: readonly Spot[]): void {
    if (!this.#respotted || !this.#wanted) return;
    this.#respotted = false;
    const { spots } = this.#tenures;
    this.#wire.look(spots.map(({ address }) => address));
    this.#guard.want([...spots, ...leaving], this.#observed?.ipvs ?? new Set());
  }

  async #believe(spots: readonly Spot[]): Promise<void> {
    const told = await this.#wire.sync();
    for (const { address, nic } of spots) this.#wire.leave(address, nic);
    if (told) this.#tenures.silent(spots, performance.now());
    else this.#tenures.deaf(performance.now());
    this.#move();
  }

  async #change(steps: Steps, signal: AbortSignal): Promise<void> {
    const { drop, refresh, add } = steps;
    if (drop.length + refresh.length + add.length === 0) return;
    const refused = await this.#ground.links.carryOut(steps, signal).catch((error: unknown) => {
      this.#tenures.undone(steps, performance.now());
      throw error;
    });
    const now = performance.now();
    const accepted = [...refresh, ...add].filter((due) => !refused.has(due));
    const heardAll = accepted.some(({ by }) => now >= by) && (await this.#wire.sync());
    const held = this.#tenures.kept(accepted, now, heardAll);
    for (const [spot, words] of refused) {
      this.#tenures.refused(spot, words, now + REFUSED_AGAIN_MS);
      this.#wire.mute(spot.address, spot.nic);
    }
    await this.#answer(held, signal);
    const taken = new Set(add).intersection(new Set(held));
    for (const { address, nic } of taken)
      this.#options.log.info({ address: String(address), interface: nic.name }, "address taken: nobody answers for it");
    l2Takeovers.inc(taken.size);
    if (add.length + refused.size > 0) this.#move();
  }

  async #answer(held: readonly Spot[], signal: AbortSignal): Promise<void> {
    if (this.#lapsed) return;
    const onInterfaces = held.filter(({ nic }) => nic.name !== DEVICE);
    for (const { address, nic } of onInterfaces) this.#wire.answer(address, nic);
    // Whoever answers from now on has begun before the form of earlier versions goes.
    const old = onInterfaces.filter((spot) => this.#observed?.onNics.has(keyOf(spot)) === true);
    if (old.length > 0 && (await this.#wire.sync())) await this.#ground.links.takeOffNics(old, signal);
  }

  /** Else the process for frames does. */
  #kernelAnswers(spot: Spot): boolean {
    const { onNics, ignoringArp } = this.#observed ?? { onNics: new Set(), ignoringArp: new Set() };
    const isSelected = this.#selectedBefore?.has(keyOf(spot)) ?? true;
    return onNics.has(keyOf(spot)) || (spot.address.family === 4 && !ignoringArp.has(spot.nic.name) && isSelected);
  }

  /** Once more when it is known what the kernel answers for now. */
  #lapse(): void {
    this.#tenures.unanswered(performance.now());
    this.#lapsed = true;
    this.#stale = true;
    this.#bell.ring();
  }

  #hear({ what, address, mac }: Said, device: string): void {
    if (this.#observed?.macs.has(mac) !== false) return;
    const now = performance.now();
    const node = this.candidates.nodeOf(mac);
    if (what === "probe") return this.#tenures.contended(address, device, mac, node, now);
    const outcome = this.#tenures.claimed(address, device, mac, node, now);
    if (outcome === "nothing") return;
    l2Conflicts.inc({ outcome });
    this.#options.log.warn({ address: String(address), interface: device, mac, node, outcome }, "another MAC answers for an address");
    this.#move();
  }

  #tell(): void {
    if (!this.#moved) return;
    this.#moved = false;
    const { held } = this.#tenures;
    l2Addresses.set(held.length);
    const now = new Map<string, string>([["", JSON.stringify(this.protection())]]);
    for (const text of this.#wanted?.keys() ?? []) now.set(text, JSON.stringify(this.state(parseAddress(text))));
    const changed = now.size !== this.#told.size || [...now].some(([text, state]) => this.#told.get(text) !== state);
    if (!changed) return;
    this.#told.clear();
    for (const [text, state] of now) this.#told.set(text, state);
    this.#options.onChange();
  }

  #move(): void {
    this.#moved = true;
    this.#bell.ring();
  }
}

const keyOf = ({ address, nic }: Spot) => `${String(address)} ${nic.name}`;
