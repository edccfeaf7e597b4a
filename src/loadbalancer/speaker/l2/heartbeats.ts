import type { KeyObject } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { addressOf, type Address } from "../../../ip/address.ts";
import type { Log } from "../../../kube/log.ts";
import { l2Heartbeats } from "../../metrics.ts";
import { announcingNode, eligibleNodes } from "../../announcement/l2-election.ts";
import { isEncrypted, isSigned, signHeartbeat, verifyHeartbeat, type Heartbeat, type ReceivedHeartbeat } from "./heartbeat.ts";
import { unavailableAddresses, isAbout, isSame, NONE, type UnavailableAddresses } from "./unavailable-addresses.ts";
import { INTERVAL_MS, HeartbeatLiveness, type HeartbeatTimes } from "./liveness.ts";

export interface HeartbeatKeys {
  /** Signs what this node sends. */
  readonly own: KeyObject;
  /** Undefined if its agent has published none, as those of earlier versions. */
  of(node: string): KeyObject | undefined;
  /** The shared key of earlier versions; undefined if there are none. */
  shared(): Buffer | undefined;
}

export interface HeartbeatOptions {
  readonly node: string;
  /** The addresses of each node. */
  readonly peers: () => ReadonlyMap<string, readonly string[]>;
  /** Whether its agent is alive, by the controller. */
  readonly isMember: (node: string) => boolean;
  readonly keys: HeartbeatKeys;
  readonly macs: () => Iterable<string>;
  readonly send: (address: string, bytes: Buffer, source: string | undefined) => void;
  /** Datagrams from other addresses need not be reported. */
  readonly listenTo: (addresses: readonly Address[]) => void;
  /** Heartbeats cannot be received at the moment. */
  readonly isDeaf: () => boolean;
  /** A candidate missed its heartbeats, resumed them, cannot answer for other addresses than before, or never sent any. */
  readonly onChange: () => void;
  /** Another candidate has taken an address off its link. */
  readonly onLetGo: () => void;
  readonly log: Log;
}

/** Sends a heartbeat every second and tracks those of the other candidates. */
export class Heartbeats {
  readonly #options: HeartbeatOptions;
  readonly #liveness = new HeartbeatLiveness();
  readonly #started = Date.now();
  readonly #skewed = new Set<string>();
  /** All nodes that ever sent a heartbeat. */
  readonly #acquaintances = new Set<string>();
  #nodes: ReadonlyMap<string, readonly string[]> = new Map();
  #addresses: ReadonlyMap<string, readonly Address[]> = new Map();
  #number = 0;
  #partners: ReadonlySet<string> = new Set();
  /** Undefined until it is known. */
  #unable: UnavailableAddresses | undefined;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  /** The other candidates for the addresses of this node. */
  set partners(nodes: ReadonlySet<string>) {
    this.#partners = nodes;
  }

  /** Addresses that this node leaves to others, which are notified at once. */
  set unable(addresses: ReadonlySet<string>) {
    const next = unavailableAddresses(addresses);
    if (this.#unable && isSame(this.#unable, next)) return;
    this.#unable = next;
    this.#speak(false);
  }

  /** In election order. */
  eligible(candidates: readonly string[], addresses: readonly Address[]): readonly string[] {
    const texts = addresses.map(String);
    return eligibleNodes(
      candidates,
      (node) => this.isAlive(node),
      (node) => texts.every((text) => this.#isAble(node, text)),
    );
  }

  /** Whether this node is the one that announces the address. */
  announces(candidates: readonly string[], address: Address): boolean {
    return announcingNode(candidates, this.eligible(candidates, [address])) === this.#options.node;
  }

  /** Restores what the earlier agent knew; call it before anything is wanted. */
  remember(heartbeats: HeartbeatTimes): void {
    this.#liveness.remember(heartbeats, performance.now());
  }

  /** For the next agent. */
  get pulses(): HeartbeatTimes {
    return this.#liveness.pulses;
  }

  isAlive(node: string): boolean {
    return node === this.#options.node || this.#liveness.isAlive(node);
  }

  get unheard(): string[] {
    const heard = new Set([this.#options.node, ...this.#liveness.heard]);
    return [...this.#options.peers().keys()].filter((node) => this.#partners.has(node) && !heard.has(node)).toSorted();
  }

  /** Candidates that never sent a heartbeat, after a grace period. */
  get strangers(): string[] {
    return this.#liveness.strangers.filter((node) => this.#partners.has(node)).toSorted();
  }

  nodeOf(mac: string): string | undefined {
    return this.#liveness.nodeOf(mac);
  }

  /** Input from any sender: nothing here may throw. */
  take(datagram: Buffer, from: string): void {
    const received = verifyHeartbeat(datagram);
    if (!received) return l2Heartbeats.inc({ outcome: "malformed" });
    const { heartbeat } = received;
    const early = this.#rejection(received, from);
    if (early === "unknown") return;
    const unable = this.#liveness.unable(heartbeat.node);
    const outcome = early ?? this.#liveness.hear(heartbeat, performance.now(), Date.now());
    l2Heartbeats.inc({ outcome });
    if (outcome === "skewed") this.#warnOfClock(heartbeat);
    if (outcome !== "heard" && outcome !== "returned") return;
    const { node, letGo } = heartbeat;
    this.#acquaintances.add(node);
    if (letGo) this.#options.onLetGo();
    const isOther = !isSame(unable, this.#liveness.unable(node));
    if (outcome === "returned") this.#options.log.info({ node }, "heartbeats from candidate resumed");
    else if (isOther) this.#options.log.info({ node }, "candidate can announce other addresses than before");
    if (outcome === "returned" || isOther) this.#options.onChange();
  }

  beat(): void {
    const { node, peers, isMember, keys, isDeaf, log, onChange } = this.#options;
    const nodes = peers();
    // A node is removed from the candidates before it is forgotten.
    this.#liveness.members(
      nodes.keys().filter((one) => one !== node && (isMember(one) || this.#partners.has(one))),
      performance.now(),
    );
    const { silent, unheard } = this.#liveness.check(performance.now(), this.#partners, isDeaf());
    for (const one of silent) log.warn({ node: one }, "three heartbeats from candidate missed");
    for (const one of unheard)
      log.warn({ node: one, key: keys.of(one) !== undefined }, "no heartbeat from candidate yet; using its Lease only");
    if (silent.length + unheard.length > 0) onChange();
    this.#speak(false, nodes);
  }

  /** Sent at once, so that the next candidate need not wait for its next probe. */
  tellLetGo(): void {
    this.#speak(true);
  }

  async run(signal: AbortSignal): Promise<void> {
    const timer = setInterval(() => this.beat(), INTERVAL_MS);
    this.beat();
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    clearInterval(timer);
  }

  #listen(nodes: ReadonlyMap<string, readonly string[]>): void {
    if (isDeepStrictEqual(nodes, this.#nodes)) return;
    this.#nodes = nodes;
    // Host names are among the addresses of a Node too.
    this.#addresses = new Map(nodes.entries().map(([node, texts]) => [node, texts.flatMap((text) => addressOf(text) ?? [])]));
    this.#options.listenTo([...this.#addresses].flatMap(([node, addresses]) => (node === this.#options.node ? [] : addresses)));
  }

  /** Checked before the signature: a copy of a known heartbeat is not verified. */
  #rejection(received: ReceivedHeartbeat, from: string): "stranger" | "stale" | "forged" | "unknown" | undefined {
    const { heartbeat } = received;
    const { node } = heartbeat;
    if (!this.#liveness.isMember(node)) return "stranger";
    if (!this.#addresses.get(node)?.some((address) => String(address) === from)) return "forged";
    if (this.#liveness.hasHeard(heartbeat)) return "stale";
    const { keys } = this.#options;
    const [key, shared] = [keys.of(node), keys.shared()];
    if (!key && !shared) return "unknown";
    return (key ? isSigned(received, key) : shared && isEncrypted(received, shared)) ? undefined : "forged";
  }

  /**
   * Whether the node has an interface for the address, as far as reported. A node leaves an address only to nodes whose heartbeats it
   * receives.
   */
  #isAble(node: string, address: string): boolean {
    const isOurs = !isAbout(this.#unable ?? NONE, address);
    if (node === this.#options.node) return isOurs;
    return (isOurs || this.#liveness.heard.includes(node)) && !isAbout(this.#liveness.unable(node), address);
  }

  #warnOfClock({ node, sent }: Heartbeat): void {
    if (this.#skewed.has(node)) return;
    this.#skewed.add(node);
    this.#options.log.warn({ node, aheadMs: sent - Date.now() }, "heartbeats from candidate ignored: clocks differ by more than a minute");
  }

  /** Also to silent ones, so that they know of this node when they resume. */
  #speak(letGo: boolean, nodes = this.#options.peers()): void {
    const { node, keys, macs, send } = this.#options;
    this.#listen(nodes);
    const listeners = new Set([...this.#partners, ...this.#acquaintances]);
    listeners.delete(node);
    if (listeners.size === 0) return;
    this.#number += 1;
    const numbered = { started: this.#started, number: this.#number, sent: Date.now() };
    const heartbeat = { node, ...numbered, macs: [...macs()], letGo, ...(this.#unable && { unable: this.#unable }) };
    const bytes = signHeartbeat(heartbeat, keys.own, keys.shared());
    const own = this.#addresses.get(node) ?? [];
    for (const listener of listeners) {
      for (const address of this.#addresses.get(listener) ?? []) {
        // Its source address identifies the node.
        send(String(address), bytes, own.find(({ family }) => family === address.family)?.toString());
        l2Heartbeats.inc({ outcome: "sent" });
      }
    }
  }
}
