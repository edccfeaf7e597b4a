import { lookup } from "node:dns";
import { lookupsAbandoned } from "../metrics.ts";
import type { Task } from "../../util/deadline.ts";

/** The addresses of a name, or the code of the error. */
export type LookupResult = { readonly addresses: readonly string[] } | { readonly code: string; readonly afterMs: number };

type ResolveName = (host: string) => Promise<LookupResult>;

interface Lookup extends Task<LookupResult> {
  /** Whether it ever had a thread. */
  began(): boolean;
  /** Whether no name at all was answered since this one was asked for. */
  isServerSilent(): boolean;
}

/** No resolver gives up on a silent server sooner: whatever fails in less was answered with a failure. */
const SHORTEST_DNS_TIMEOUT_MS = 900;

/** The same code for a server that is silent and for one that says it failed. */
export function isNoAnswer(answer: LookupResult): boolean {
  return "code" in answer && answer.code === "EAI_AGAIN" && answer.afterMs >= SHORTEST_DNS_TIMEOUT_MS;
}

const LATE_MAX = 1_000;

interface Query {
  readonly host: string;
  readonly answer: PromiseWithResolvers<LookupResult>;
  waiting: number;
  running: boolean;
}

/**
 * Looks names up as the system does, with its hosts file and its search list. Such a lookup holds a thread and cannot be called off, so only so
 * many run as get a thread at once, and a name that is being looked up is not looked up a second time: the next who asks waits for the same answer.
 * Names that were not answered in time when they were last asked for leave one thread to the others.
 */
export class Lookups {
  readonly #resolveName: ResolveName;
  #threads: number | undefined;
  readonly #queries = new Map<string, Query>();
  readonly #late = new Set<string>();
  #running = 0;
  #answeredAt = -Infinity;

  constructor(resolveName: ResolveName = systemLookup, threads?: number) {
    this.#resolveName = resolveName;
    this.#threads = threads;
  }

  ask(host: string): Lookup {
    const name = host.toLowerCase();
    let query = this.#queries.get(name);
    if (query?.running && query.waiting === 0) lookupsAbandoned.dec();
    if (!query) this.#queries.set(name, (query = { host, answer: Promise.withResolvers(), waiting: 0, running: false }));
    query.waiting += 1;
    this.#startNext();
    const current = query;
    const startedAt = performance.now();
    return {
      result: current.answer.promise,
      cancel: () => this.#leave(name, current),
      began: () => current.running,
      isServerSilent: () => this.#answeredAt < startedAt,
    };
  }

  #leave(name: string, query: Query): void {
    query.waiting -= 1;
    if (query.waiting > 0 || this.#queries.get(name) !== query) return;
    if (query.running) {
      lookupsAbandoned.inc();
      this.#remember(name);
    } else this.#queries.delete(name);
  }

  /** Users choose the names, so only the latest are remembered. */
  #remember(late: string): void {
    this.#late.delete(late);
    this.#late.add(late);
    const [oldest = ""] = this.#late;
    if (this.#late.size > LATE_MAX) this.#late.delete(oldest);
  }

  #startNext(): void {
    // As late as libuv looks, when the first one is needed.
    this.#threads ??= lookupThreads();
    // In the order in which they were asked for.
    for (const [name, query] of this.#queries) {
      if (this.#running >= this.#threads) return;
      const leavesOne = this.#late.has(name) && this.#running === this.#threads - 1 && this.#running > 0;
      if (!query.running && !leavesOne) void this.#run(name, query);
    }
  }

  async #run(name: string, query: Query): Promise<void> {
    query.running = true;
    this.#running += 1;
    try {
      const answer = await this.#resolveName(query.host);
      if (!isNoAnswer(answer)) {
        this.#answeredAt = performance.now();
        this.#late.delete(name);
      }
      query.answer.resolve(answer);
    } catch (error) {
      query.answer.reject(error);
    } finally {
      if (query.waiting === 0) lookupsAbandoned.dec();
      this.#queries.delete(name);
      this.#running -= 1;
      this.#startNext();
    }
  }
}

/** libuv gives lookups at most half of its threads, rounded up, so that files are still read and written. */
function lookupThreads(): number {
  const threads = Number.parseInt(process.env["UV_THREADPOOL_SIZE"] ?? "4", 10);
  return Math.floor((Math.min(1024, Math.max(1, threads || 1)) + 1) / 2);
}

function systemLookup(host: string): Promise<LookupResult> {
  const began = performance.now();
  return new Promise((resolve) => {
    lookup(host, { all: true, order: "verbatim" }, (error, found) => {
      if (error) resolve({ code: error.code ?? "EAI_FAIL", afterMs: performance.now() - began });
      else resolve({ addresses: found.map(({ address }) => address) });
    });
  });
}
