import type { LineChange } from "./diff.ts";
import type { Path } from "./grammar.ts";
import type { FrrClient } from "./client.ts";
import { VtyError } from "./error.ts";
import { errorText, VtyStatus, type Vty } from "./vty.ts";
import { sleep } from "../util/sleep.ts";

/** Zebra informs bgpd within milliseconds, unless the machine is very busy. */
const TRY_AGAIN_MS = 5_000;
/** bgpd's messages before it knows that a VNI is gone. */
const VNI_STAYS = /unconfigure l3vni|already running|scheduled to be deleted/i;
/** mgmtd's message when it lost the context, as it may when another session ends. */
const CONTEXT_LOST = /deleted by another process/;
const ASK_AGAIN_MS = 10;
/** mgmtd's message when zebra or staticd leaves during a commit. */
const BACKEND_LOST = /^Backend daemon disconnected/m;
/** Longer than any answer may take, and longer than mgmtd may be busy. */
const IDLE_MS = 120_000;
/** The last session of each router. */
const latest = new WeakMap<FrrClient, ConfigSession>();

interface Connection {
  readonly vty: Vty;
  path: Path;
}

/** Separate connections in configuration mode, one per daemon. */
export class ConfigSession {
  readonly #router: FrrClient;
  readonly #signal: AbortSignal;
  readonly #connections = new Map<string, Connection>();
  #leaving: NodeJS.Timeout | undefined;

  constructor(router: FrrClient, signal: AbortSignal) {
    this.#router = router;
    this.#signal = signal;
    // A failed pass leaves its connections. When a session of mgmtd 10 ends, it forgets what another one is committing: it must end before
    // that begins.
    latest.get(router)?.close();
    latest.set(router, this);
  }

  /** Enters configuration mode in all of these at once. */
  async open(daemons: readonly string[]): Promise<void> {
    const absent = new Set(daemons.filter((daemon) => !this.#connections.has(daemon)));
    await Promise.all(Array.from(absent, (daemon) => this.#connect(daemon)));
  }

  /** Returns FRR's message if it rejects the line. Throws if a daemon does not run or answer. */
  async send(change: LineChange): Promise<string | undefined> {
    // A pass may end in many places, and no connection should be left open.
    this.#leaving ??= setTimeout(() => this.close(), IDLE_MS);
    this.#leaving.refresh();
    const until = performance.now() + TRY_AGAIN_MS;
    for (;;) {
      const problem = await this.#sendOnce(change);
      if (problem === undefined || performance.now() > until) return problem;
      if (!(change.awaitsVniGone && VNI_STAYS.test(problem)) && !CONTEXT_LOST.test(problem)) return problem;
      await sleep(ASK_AGAIN_MS * (1 + Math.random()), this.#signal);
    }
  }

  close(): void {
    clearTimeout(this.#leaving);
    this.#leaving = undefined;
    for (const { vty } of this.#connections.values()) vty.close();
    this.#connections.clear();
  }

  /** Enters the context of the change. Returns FRR's message if that fails. */
  async approach({ daemon, context }: LineChange): Promise<string | undefined> {
    const connection = this.#connections.get(daemon) ?? (await this.#connect(daemon));
    const problem = await this.#run(connection, wayFrom(connection.path, context));
    if (problem === undefined) connection.path = context;
    return problem;
  }

  async #sendOnce(change: LineChange): Promise<string | undefined> {
    const { daemon, context, send, do: what, entry } = change;
    const kept = await this.approach(change);
    const connection = this.#connections.get(daemon);
    if (kept !== undefined || !connection) return kept;
    const problem = await this.#run(connection, [send]);
    if (problem === undefined && what === "add" && entry.context) connection.path = [...context, send];
    return problem;
  }

  async #run(connection: Connection, lines: readonly string[]): Promise<string | undefined> {
    for (const line of lines) {
      const { status, text } = await connection.vty.run(line, this.#signal);
      if (status === VtyStatus.success) continue;
      if (BACKEND_LOST.test(text)) throw new VtyError("Closed", connection.vty.daemon, line, errorText(text, status), { status });
      // FRR tries a line that is unknown in its context in the outer contexts, and stays there.
      await this.#outermost(connection);
      return errorText(text, status);
    }
    return undefined;
  }

  async #connect(daemon: string): Promise<Connection> {
    const vty = await this.#router.open(daemon, this.#signal);
    const connection = { vty, path: [] };
    await vty.must("configure terminal", this.#signal);
    this.#connections.set(daemon, connection);
    return connection;
  }

  async #outermost(connection: Connection): Promise<void> {
    await connection.vty.must("end", this.#signal);
    await connection.vty.must("configure terminal", this.#signal);
    connection.path = [];
  }
}

function wayFrom(from: Path, to: Path): string[] {
  let shared = 0;
  while (shared < from.length && shared < to.length && from[shared] === to[shared]) shared += 1;
  const into = to.slice(shared);
  // FRR finds these from any context, as in a file without exits.
  const isFound = /^(address-family|router bgp|vrf) /.test(into[0] ?? "");
  return isFound ? into : [...from.slice(shared).map(() => "exit"), ...into];
}
