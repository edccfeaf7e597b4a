import type { Log } from "../../../../kube/log.ts";
import { l2Heartbeats } from "../../../../kube/metrics.ts";
import { seal, unseal, type Heartbeat } from "./heartbeat.ts";
import { INTERVAL_MS, Liveness } from "./liveness.ts";

export interface HeartbeatOptions {
  readonly node: string;
  /** The nodes, each with its addresses. */
  readonly peers: () => ReadonlyMap<string, readonly string[]>;
  /** Whether its agent lives, as the controller sees it. */
  readonly isMember: (node: string) => boolean;
  readonly key: () => Buffer | undefined;
  readonly macs: () => Iterable<string>;
  readonly send: (address: string, bytes: Buffer) => void;
  /** Somebody fell silent, or is heard again. */
  readonly onChange: () => void;
  /** Another candidate has taken an address off its link. */
  readonly onLetGo: () => void;
  readonly log: Log;
}

/** Says every second that this node lives, and listens who else does. */
export class Heartbeats {
  readonly #options: HeartbeatOptions;
  readonly #liveness = new Liveness();
  readonly #started = Date.now();
  readonly #skewed = new Set<string>();
  /** All who were ever heard. */
  readonly #acquaintances = new Set<string>();
  #number = 0;
  #partners: ReadonlySet<string> = new Set();

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  /** The other candidates of addresses for which this node is one. */
  set partners(nodes: ReadonlySet<string>) {
    this.#partners = nodes;
  }

  isAlive(node: string): boolean {
    return node === this.#options.node || this.#liveness.isAlive(node);
  }

  get unheard(): string[] {
    const heard = new Set([this.#options.node, ...this.#liveness.heard]);
    return [...this.#options.peers().keys()].filter((node) => this.#partners.has(node) && !heard.has(node)).toSorted();
  }

  nodeOf(mac: string): string | undefined {
    return this.#liveness.nodeOf(mac);
  }

  take(datagram: Buffer): void {
    const key = this.#options.key();
    if (!key) return;
    const heartbeat = unseal(datagram, key);
    const outcome = heartbeat ? this.#liveness.hear(heartbeat, performance.now(), Date.now()) : "forged";
    l2Heartbeats.inc({ outcome });
    if (heartbeat && outcome === "skewed") this.#warnOfClock(heartbeat);
    if (heartbeat && (outcome === "heard" || outcome === "returned")) this.#acquaintances.add(heartbeat.node);
    if (heartbeat?.letGo && (outcome === "heard" || outcome === "returned")) this.#options.onLetGo();
    if (outcome !== "returned") return;
    this.#options.log.info({ node: heartbeat?.node }, "candidate is heard again");
    this.#options.onChange();
  }

  /** One beat: speaks, and looks who has been silent. */
  beat(): void {
    const { node, peers, isMember, key, log, onChange } = this.#options;
    const nodes = peers();
    // One that is still a candidate has not been forgotten before it is none.
    this.#liveness.members(
      nodes.keys().filter((one) => one !== node && (isMember(one) || this.#partners.has(one))),
      performance.now(),
    );
    const { silent, unheard } = this.#liveness.look(performance.now(), this.#partners);
    for (const one of silent) log.warn({ node: one }, "candidate is silent: three heartbeats missed");
    for (const one of unheard)
      log.warn({ node: one, key: key() !== undefined }, "candidate was never heard; it is judged by membership alone");
    if (silent.length > 0) onChange();
    this.#speak(nodes, false);
  }

  /** Out of turn, so that whoever comes next need not wait for its next probe. */
  tellLetGo(): void {
    this.#speak(this.#options.peers(), true);
  }

  async run(signal: AbortSignal): Promise<void> {
    const timer = setInterval(() => this.beat(), INTERVAL_MS);
    this.beat();
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    clearInterval(timer);
  }

  #warnOfClock({ node, sent }: Heartbeat): void {
    if (this.#skewed.has(node)) return;
    this.#skewed.add(node);
    this.#options.log.warn(
      { node, aheadMs: sent - Date.now() },
      "candidate cannot be heard: its clock and ours differ by more than a minute",
    );
  }

  /** Also to those who are silent and therefore candidates no more: how else would they know of us when they wake. */
  #speak(nodes: ReadonlyMap<string, readonly string[]>, letGo: boolean): void {
    const { node, key, macs, send } = this.#options;
    const sealing = key();
    const listeners = new Set([...this.#partners, ...this.#acquaintances]);
    listeners.delete(node);
    if (!sealing || listeners.size === 0) return;
    this.#number += 1;
    const bytes = seal({ node, started: this.#started, number: this.#number, sent: Date.now(), macs: [...macs()], letGo }, sealing);
    for (const listener of listeners) {
      for (const address of nodes.get(listener) ?? []) {
        send(address, bytes);
        l2Heartbeats.inc({ outcome: "sent" });
      }
    }
  }
}
