import { KernelError } from "../../../hostnet/error.ts";
import { type Address, parseAddress } from "../../../ip/address.ts";
import { sleep } from "../../../util/sleep.ts";
import type { Runnable } from "../../../kube/controller/controller.ts";
import type { Log } from "../../../kube/log.ts";
import { l2Addresses, l2Conflicts, l2RefreshFailures } from "../../metrics.ts";
import { DEVICE } from "./ip-address-commands.ts";
import { WakeSignal } from "../../../util/wake-signal.ts";
import type { ArpOrNdpMessage } from "./frames.ts";
import { countRequest, L2Apply } from "./apply.ts";
import { l2BackendsOf, type L2Backends } from "./backends.ts";
import { NftFilter, type FilterState } from "./nft-filter.ts";
import { Heartbeats, type HeartbeatKeys } from "./heartbeats.ts";
import { addressKey, type ObservedInterfaces, UsedInterfaces } from "./interfaces.ts";
import { selectInterfaces, withoutInterface, type L2Address } from "./select-interfaces.ts";
import { OwnedAddresses } from "./owned-addresses.ts";
import type { AddressToOwn, AddressOnInterface, OwnershipState } from "./address-ownership.ts";

const BREATH_MS = 10;
const RETRY_MS = 1_000;
/** Links change in bursts. */
const DEBOUNCE_MS = 100;
/** How often links and routes are read again while addresses are owned. */
const RESYNC_MS = 10_000;
const HEARTBEAT_PORT = 7947;

export type L2State = OwnershipState | { readonly is: "standby" };

export interface L2Options {
  readonly node: string;
  readonly netns?: string | undefined;
  /** The addresses of each node. */
  readonly peers: () => ReadonlyMap<string, readonly string[]>;
  /** Whether its agent is alive, by the controller; if unset, all are. */
  readonly isMember?: (node: string) => boolean;
  readonly keys: HeartbeatKeys;
  /** Called when a state, the live candidates or the protection has changed. */
  readonly onChange: () => void;
  readonly log: Log;
  readonly heartbeatPort?: number;
  /** Ports, or ranges such as `8000-8100`, of a program on the node that replaces kube-proxy. */
  readonly exemptPorts?: readonly string[];
}

/** Announces the addresses that this node is elected for. They are on a link of our own. */
export class L2Announcer implements Runnable {
  readonly name = "l2-announcer";
  readonly #options: L2Options;
  readonly #ownerships: OwnedAddresses;
  readonly #backends: L2Backends;
  readonly #socket: ReturnType<L2Backends["packetSocket"]>;
  readonly #filter: NftFilter;
  readonly #apply: L2Apply;
  /** The other candidates, and which of them are alive. */
  readonly candidates: Heartbeats;
  readonly #reported = new Map<string, string>();
  #wanted: ReadonlyMap<string, L2Address> | undefined;
  #unfit = new Map<string, string>();
  readonly #used = new UsedInterfaces();
  #observed: ObservedInterfaces | undefined;
  #stale = true;
  #readAt = 0;
  /** The interfaces on which the kernel answered for the earlier agent, until its addresses are ours; undefined: all. */
  #selectedBefore: ReadonlySet<string> | undefined;
  /** A state may have changed. */
  #moved = false;
  readonly #wakeSignal = new WakeSignal();

  constructor(
    options: L2Options,
    backends: L2Backends = l2BackendsOf(options.netns, options.heartbeatPort ?? HEARTBEAT_PORT, options.log),
  ) {
    const { node, peers, isMember = () => true, keys, log, exemptPorts = [] } = options;
    this.#options = options;
    this.#backends = backends;
    this.#ownerships = new OwnedAddresses(node, (addressOnNic) => this.#kernelAnswers(addressOnNic));
    this.#filter = new NftFilter({ nft: (text, signal) => backends.nft(text, signal), exemptPorts, log, onApplied: () => this.#move() });
    this.#socket = backends.packetSocket({
      onStart: () => {
        this.#ownerships.deaf(performance.now());
        this.#lapse();
        this.#move();
      },
      onLapse: () => this.#lapse(),
      onEnd: () => this.#move(),
      onMessage: (message, device) => this.#onMessage(message, device),
      onRequests: (address, device, times) => countRequest(address, this.#ownerships.state(address), device, times),
      onDatagram: (bytes, from) => this.candidates.take(bytes, from),
      onFailed: (device, message) => this.#ownerships.unsent(device, `cannot send frames: ${message}`, performance.now()),
    });
    this.#apply = new L2Apply({
      ownerships: this.#ownerships,
      links: backends.links,
      socket: this.#socket,
      filter: this.#filter,
      log,
      observed: () => this.#observed,
      isConfigured: () => this.#wanted !== undefined,
      onPause: () => this.#lapse(),
      onReleased: () => this.candidates.tellLetGo(),
      onChange: () => this.#move(),
    });
    this.candidates = new Heartbeats({
      node,
      peers,
      isMember,
      keys,
      log,
      macs: () => this.#observed?.rows.filter(({ fits }) => fits).map(({ mac }) => mac) ?? [],
      send: (address, bytes, source) => this.#socket.send(address, bytes, source),
      listenTo: (addresses) => this.#socket.listenTo(addresses),
      isDeaf: () => !this.#socket.isUp,
      onChange: () => {
        this.#elect();
        options.onChange();
      },
      onLetGo: () => {
        this.#ownerships.hurry(performance.now());
        this.#wakeSignal.ring();
      },
    });
  }

  /** Replaces all addresses for which this node is a candidate. */
  set(wanted: readonly L2Address[]): void {
    this.#wanted = new Map(wanted.map((one) => [String(one.address), one]));
    this.candidates.partners = new Set(wanted.flatMap(({ candidates }) => (candidates.includes(this.#options.node) ? candidates : [])));
    this.#elect();
  }

  state(address: Address): L2State {
    const message = this.#unfit.get(String(address));
    if (message !== undefined) return { is: "failed", message };
    const state = this.#ownerships.state(address) ?? { is: "standby" };
    const { fault } = this.#socket;
    return state.is === "probing" && fault !== undefined ? { is: "failed", message: `cannot probe for duplicates: ${fault}` } : state;
  }

  /** Interfaces for service addresses that have lost their carrier: others announce the addresses now. */
  lostLinks(): string[] {
    return this.#observed ? this.#used.lost(this.#observed) : [];
  }

  protection(): FilterState {
    return this.#filter.protection;
  }

  async run(signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    const running = AbortSignal.any([signal, stop.signal]);
    const onLinks = () => {
      this.#stale = true;
      this.#wakeSignal.ring();
    };
    try {
      await Promise.all([
        this.#socket.run(running),
        this.#filter.run(running),
        this.candidates.run(running),
        this.#backends.watch(onLinks, running),
        this.#turn(running),
      ]);
    } finally {
      stop.abort();
    }
    await this.#backends.links.outlast(this.#ownerships.owned, this.#ownerships.leaving);
  }

  /** The only loop that changes addresses. It waits only for the kernel. */
  async #turn(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // Route changes wake nothing: the router changes its own all the time.
      if (performance.now() - this.#readAt >= RESYNC_MS && this.#ownerships.owned.length > 0) this.#stale = true;
      // If links cannot be read, the addresses on them are still refreshed.
      const failed = [
        this.#stale && (await this.#tried(this.#readLinks(signal), signal)),
        this.#observed && (await this.#tried(this.#act(signal), signal)),
      ];
      if (failed.includes(true)) await sleep(RETRY_MS * (0.5 + Math.random()), signal).catch(() => {});
      this.#report();
      const now = performance.now();
      await this.#wakeSignal.wait(Math.max(this.#ownerships.due(now) - now, BREATH_MS), signal);
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
      this.#options.log.warn({ error }, "address refresh failed, retrying");
      return true;
    }
  }

  async #readLinks(signal: AbortSignal): Promise<void> {
    if (this.#observed) await sleep(DEBOUNCE_MS, signal);
    this.#stale = false;
    this.#readAt = performance.now();
    const first = this.#observed === undefined;
    try {
      const observed = await this.#backends.links.read(signal);
      if (first && observed.ours.length > 0) this.#selectedBefore = await this.#backends.selected(signal);
      this.#observed = observed;
    } catch (error) {
      this.#stale = true;
      throw error;
    }
    const { ours } = this.#observed;
    if (first) for (const { address, nic, validSeconds } of ours) this.#adopt({ address: parseAddress(address), nic }, validSeconds);
    this.#ownerships.present(new Set(ours.filter(({ nic }) => nic.name === DEVICE).map(({ address }) => address)));
    if (this.#apply.lapsed) this.#ownerships.unanswered(performance.now());
    this.#apply.lapsed = false;
    this.#elect();
  }

  #adopt(addressOnNic: AddressOnInterface, validSeconds: number): void {
    this.#ownerships.adopt(addressOnNic, validSeconds, performance.now());
    const about = { address: String(addressOnNic.address), interface: addressOnNic.nic.name };
    this.#options.log.info(about, "keeping an address found on its link");
  }

  /** Decides again which addresses are for this node. Until it is known what is wanted, the addresses of the earlier agent stay. */
  #elect(): void {
    const observed = this.#observed;
    if (!observed) return;
    if (this.#wanted) {
      this.candidates.unable = withoutInterface(this.#wanted.values(), observed);
      const unfit = new Map<string, string>();
      const toOwn: AddressToOwn[] = [];
      const own = this.#options.peers().get(this.#options.node) ?? [];
      this.#used.add(this.#wanted.values(), observed);
      for (const [text, wanted] of this.#wanted) {
        const { address, candidates } = wanted;
        if (!this.candidates.announces(candidates, address)) continue;
        const selection = selectInterfaces(wanted, observed, own);
        if ("nics" in selection) toOwn.push({ address, nics: selection.nics, candidates });
        else unfit.set(text, selection.obstacle);
      }
      this.#unfit = unfit;
      this.#ownerships.want(toOwn, performance.now());
      this.#selectedBefore = undefined;
    }
    this.#apply.interfacesChanged = true;
    this.#move();
  }

  async #act(signal: AbortSignal): Promise<void> {
    if (await this.#apply.run(signal)) this.#moved = true;
  }

  /** Otherwise the packet socket process does. */
  #kernelAnswers(addressOnNic: AddressOnInterface): boolean {
    const { onNics, ignoringArp } = this.#observed ?? { onNics: new Set(), ignoringArp: new Set() };
    if (onNics.has(addressKey(addressOnNic))) return true;
    const isSelected = this.#selectedBefore?.has(addressKey(addressOnNic)) ?? true;
    return addressOnNic.address.family === 4 && !ignoringArp.has(addressOnNic.nic.name) && isSelected;
  }

  /** Again after the kernel's state has been read. */
  #lapse(): void {
    this.#ownerships.unanswered(performance.now());
    this.#apply.lapsed = true;
    this.#stale = true;
    this.#wakeSignal.ring();
  }

  #onMessage({ what, address, mac }: ArpOrNdpMessage, device: string): void {
    if (this.#observed?.macs.has(mac) !== false) return;
    const now = performance.now();
    const node = this.candidates.nodeOf(mac);
    if (what === "probe") return this.#ownerships.contended(address, device, mac, node, now);
    const outcome = this.#ownerships.claimed(address, device, mac, node, now);
    if (outcome === "nothing") return;
    l2Conflicts.inc({ outcome });
    this.#options.log.warn({ address: String(address), interface: device, mac, node, outcome }, "address conflict: another MAC answers");
    this.#move();
  }

  #report(): void {
    if (!this.#moved) return;
    this.#moved = false;
    l2Addresses.set(this.#ownerships.owned.length);
    const now = new Map<string, string>([["", JSON.stringify([this.protection(), this.lostLinks()])]]);
    for (const text of this.#wanted?.keys() ?? []) now.set(text, JSON.stringify(this.state(parseAddress(text))));
    const changed = now.size !== this.#reported.size || [...now].some(([text, state]) => this.#reported.get(text) !== state);
    if (!changed) return;
    this.#reported.clear();
    for (const [text, state] of now) this.#reported.set(text, state);
    this.#options.onChange();
  }

  #move(): void {
    this.#moved = true;
    this.#wakeSignal.ring();
  }
}
