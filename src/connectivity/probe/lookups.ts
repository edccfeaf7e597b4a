import { lookup } from "node:dns";
import { lookupsAbandoned } from "../metrics.ts";
import type { Task } from "../../util/deadline.ts";

/** The addresses of a name, or the error code. */
export type LookupResult = { readonly addresses: readonly string[] } | { readonly code: string; readonly afterMs: number };

type ResolveName = (host: string) => Promise<LookupResult>;

interface Lookup extends Task<LookupResult> {
  /** Whether it got a thread. */
  began(): boolean;
  /** Whether no lookup at all was answered since this one began. */
  isServerSilent(): boolean;
}

/** No resolver times out sooner: a faster failure was an answer. */
const SHORTEST_DNS_TIMEOUT_MS = 900;

/** The code is the same for a timeout and for a server failure. */
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
 * Resolves names like the system, with its hosts file and search list. Such a lookup blocks a thread and cannot be canceled, so only as
 * many run as there are threads, and a name that is being resolved is shared by all callers. Names that timed out the last time leave one
 * thread to the others.
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

  /** Users choose the names, so the memory is bounded. */
  #remember(late: string): void {
    this.#late.delete(late);
    this.#late.add(late);
    const [oldest = ""] = this.#late;
    if (this.#late.size > LATE_MAX) this.#late.delete(oldest);
  }

  #startNext(): void {
    // Read as late as libuv reads it.
    this.#threads ??= lookupThreads();
    // First come, first served.
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

/** libuv gives lookups at most half of its threads, rounded up, so that file operations still run. */
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
