import { setTimeout as sleep } from "node:timers/promises";
import type { LineChange } from "./diff.ts";
import type { Path } from "./grammar.ts";
import type { FrrClient } from "./client.ts";
import { errorText, VtyStatus, type Vty } from "./vty.ts";

/** Zebra tells bgpd within milliseconds, unless the machine is very busy. */
const VNI_GONE_MS = 5_000;
const ASK_AGAIN_MS = 10;
/** Longer than any answer may take, and longer than mgmtd may be busy. */
const IDLE_MS = 120_000;
/** The last one of each router. */
const latest = new WeakMap<FrrClient, ConfigSession>();

interface Seat {
  readonly vty: Vty;
  path: Path;
}

/** Our own connections in configuration mode, one for each daemon that gets lines. */
export class ConfigSession {
  readonly #router: FrrClient;
  readonly #signal: AbortSignal;
  readonly #seats = new Map<string, Seat>();
  #leaving: NodeJS.Timeout | undefined;

  constructor(router: FrrClient, signal: AbortSignal) {
    this.#router = router;
    this.#signal = signal;
    // A pass that failed leaves its connections. When a session of mgmtd 10 ends, it forgets what another one is committing: it has to end before that begins.
    latest.get(router)?.close();
    latest.set(router, this);
  }

  /** Gets ready for these daemons, for all of them at once. */
  async open(daemons: readonly string[]): Promise<void> {
    const absent = new Set(daemons.filter((daemon) => !this.#seats.has(daemon)));
    await Promise.all(Array.from(absent, (daemon) => this.#sitDown(daemon)));
  }

  /** FRR's message when it rejects a line. A daemon that does not run or does not answer is thrown: that is not the fault of a line. */
  async send(change: LineChange): Promise<string | undefined> {
    // A pass may end in many places, and no connection should be left behind.
    this.#leaving ??= setTimeout(() => this.close(), IDLE_MS);
    this.#leaving.refresh();
    const until = performance.now() + VNI_GONE_MS;
    for (;;) {
      const words = await this.#say(change);
      if (words === undefined || !change.awaitsVniGone || performance.now() > until) return words;
      if (!/unconfigure l3vni|already running/i.test(words)) return words;
      await sleep(ASK_AGAIN_MS * (1 + Math.random()), undefined, { signal: this.#signal });
    }
  }

  close(): void {
    clearTimeout(this.#leaving);
    this.#leaving = undefined;
    for (const { vty } of this.#seats.values()) vty.close();
    this.#seats.clear();
  }

  /** Goes where the change is to be made. FRR's words when it does not let us in. */
  async approach({ daemon, context }: LineChange): Promise<string | undefined> {
    const seat = this.#seats.get(daemon) ?? (await this.#sitDown(daemon));
    const words = await this.#run(seat, wayFrom(seat.path, context));
    if (words === undefined) seat.path = context;
    return words;
  }

  async #say(change: LineChange): Promise<string | undefined> {
    const { daemon, context, send, do: what, entry } = change;
    const kept = await this.approach(change);
    const seat = this.#seats.get(daemon);
    if (kept !== undefined || !seat) return kept;
    const words = await this.#run(seat, [send]);
    if (words === undefined && what === "add" && entry.context) seat.path = [...context, send];
    return words;
  }

  async #run(seat: Seat, lines: readonly string[]): Promise<string | undefined> {
    for (const line of lines) {
      const { status, text } = await seat.vty.run(line, this.#signal);
      if (status === VtyStatus.success) continue;
      // FRR tries a line that is unknown in its context in the outer contexts, and stays there.
      await this.#outermost(seat);
      return errorText(text, status);
    }
    return undefined;
  }

  async #sitDown(daemon: string): Promise<Seat> {
    const vty = await this.#router.open(daemon, this.#signal);
    const seat = { vty, path: [] };
    await vty.must("configure terminal", this.#signal);
    this.#seats.set(daemon, seat);
    return seat;
  }

  async #outermost(seat: Seat): Promise<void> {
    await seat.vty.must("end", this.#signal);
    await seat.vty.must("configure terminal", this.#signal);
    seat.path = [];
  }
}

/** The lines that lead from one context into another. */
function wayFrom(from: Path, to: Path): string[] {
  let shared = 0;
  while (shared < from.length && shared < to.length && from[shared] === to[shared]) shared += 1;
  const into = to.slice(shared);
  // These FRR finds from inside any context that we leave for them, as it does in a file without exits.
  const isFound = /^(address-family|router bgp|vrf) /.test(into[0] ?? "");
  return isFound ? into : [...from.slice(shared).map(() => "exit"), ...into];
}
