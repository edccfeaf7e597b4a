import { readFileSync } from "node:fs";
import { type PythonProcess, startPython } from "../../hostnet/python-process.ts";
import type { Log } from "../../kube/log.ts";
import { keepRunning } from "../../util/keep-running.ts";
import type { ProbeResult } from "./pairs.ts";

/** Set by the build. */
declare const PROBE_SOCKET_SCRIPT: string | undefined;

/** Read when it is started: programs that never start it are also run without the file. */
function script(): string {
  return typeof PROBE_SOCKET_SCRIPT === "string"
    ? PROBE_SOCKET_SCRIPT
    : readFileSync(new URL("./probe-socket.py", import.meta.url), "utf8");
}

/** Flag of an answer. */
const LACKS_ROUTE = "1";

/** A process that does not end a round so long after it was told to is hung. */
const HUNG_MS = 10_000;
const STARTS_WITHIN_MS = 60_000;

export interface ProbeSocketEvents {
  /** It has started, perhaps again: it knows no peer and no VNI. */
  onStart(): void;
  /** A peer sent a frame on this device, and its answer would be flooded. */
  onUnrouted(device: string, peer: number): void;
  /** So many probes were not answered. */
  onDropped(reason: string, count: number): void;
}

export class ProbeSocket {
  readonly #netns: string;
  readonly #log: Log;
  readonly #events: ProbeSocketEvents;
  readonly #rounds = new Map<number, { results: ProbeResult[]; sentAt: number; end: (results: ProbeResult[]) => void }>();
  #process: PythonProcess | undefined;
  #ready = false;
  #round = 0;

  constructor(netns: string, log: Log, events: ProbeSocketEvents) {
    this.#netns = netns;
    this.#log = log;
    this.#events = events;
  }

  async run(signal: AbortSignal): Promise<void> {
    await keepRunning(
      () => this.#runOnce(signal),
      signal,
      (error) => this.#log.warn({ error }, "probe process ended, restarting"),
    );
  }

  get isReady(): boolean {
    return this.#ready;
  }

  tell(lines: readonly string[]): void {
    if (this.#ready && lines.length > 0) this.#process?.write(`${lines.join("\n")}\n`);
  }

  /** Sends probes, waits, and returns what came back. `line` is given the number of the round. */
  async round(lines: readonly ((round: number) => string)[], now: number, waitMs: number, signal: AbortSignal): Promise<ProbeResult[]> {
    if (lines.length === 0) return [];
    const round = (this.#round = (this.#round % 0xffff_fffe) + 1);
    const { promise, resolve } = Promise.withResolvers<ProbeResult[]>();
    this.#rounds.set(round, { results: [], sentAt: now, end: resolve });
    this.tell(lines.map((line) => line(round)));
    // The second timer starts with the end of the first: both would be due at once after this process was suspended.
    let timer = setTimeout(() => {
      this.tell([`end ${round}`]);
      timer = setTimeout(() => this.#killHung(), HUNG_MS);
    }, waitMs);
    const abort = () => resolve([]);
    signal.addEventListener("abort", abort, { once: true });
    try {
      return this.#ready ? await promise : [];
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      this.#rounds.delete(round);
    }
  }

  async #runOnce(signal: AbortSignal): Promise<string> {
    this.#process = startPython({ script: script(), netns: this.#netns, signal, onLine: (line) => this.#take(line) });
    const watchdog = setTimeout(() => this.#ready || this.#killHung(), STARTS_WITHIN_MS);
    const last = await this.#process.ended;
    clearTimeout(watchdog);
    this.#process = undefined;
    this.#ready = false;
    for (const { end } of this.#rounds.values()) end([]);
    return last;
  }

  /** What it is sent would pile up. It is started again. */
  #killHung(): void {
    this.#log.warn({}, "probe process does not answer, stopping it");
    this.#process?.kill();
  }

  #take(line: string): void {
    const [verb, first = "", ...rest] = line.split(" ");
    if (verb === "ready") {
      this.#ready = true;
      this.#events.onStart();
    } else if (verb === "unrouted") {
      this.#events.onUnrouted(first, Number(rest[0]));
    } else if (verb === "dropped") {
      this.#events.onDropped(first, Number(rest[0]));
    } else if (verb === "deaf") {
      this.#log.warn({ errno: Number(first) }, "cannot open the probe port on the VTEP address, trying again each second");
    } else if (verb === "answered" || verb === "lost" || verb === "failed") {
      const round = this.#rounds.get(Number(first));
      const [peer, where = "", size, flags, exports] = rest;
      if (!round) return;
      const path = where === "udp" || where === "ping" ? where : Number(where);
      round.results.push({
        peer: Number(peer),
        where: path,
        size: Number(size),
        at: round.sentAt,
        answered: verb === "answered",
        ...(verb === "answered" && flags === LACKS_ROUTE && { lacksRoute: true }),
        ...(verb === "answered" && Number(exports) > 0 && { exports: Number(exports) }),
      });
    } else if (verb === "ended") {
      const round = this.#rounds.get(Number(first));
      round?.end(round.results);
    }
  }
}
