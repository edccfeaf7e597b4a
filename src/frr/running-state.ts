import { hostname } from "node:os";
import { Transaction, type RejectedLine } from "./transaction.ts";
import { merge } from "./config.ts";
import { ConfigSet } from "./config-set.ts";
import { ConfigSession } from "./config-session.ts";
import { changes, type LineChange } from "./diff.ts";
import { describe, masked, type ConfigEntry } from "./entry.ts";
import { FrrError } from "./error.ts";
import { isBuiltInLine } from "./grammar.ts";
import type { FrrInstance } from "./instance.ts";
import { PassCache } from "./pass-cache.ts";
import { reload } from "./reload.ts";

export interface FragmentOutcome {
  /** The number of lines sent to FRR, reverted ones included. */
  readonly sent: number;
  readonly lines: readonly string[];
  /** Nothing of the fragment was applied, and its earlier version stays. */
  readonly rejected?: RejectedLine;
  /** Lines cannot express it: the default instance has another AS. Nothing was sent. */
  readonly rebuild?: true;
}

export const NO_CHANGE: FragmentOutcome = { sent: 0, lines: [] };

/** The state of FRR: its lines, the desired lines, and the connections to send the difference. */
export class RunningState {
  readonly memory: PassCache;
  readonly #instance: FrrInstance;
  readonly #identity: string;
  readonly #signal: AbortSignal;
  readonly #console: ConfigSession;
  #have: ConfigSet;
  /** Whether the lines were read in this pass. Otherwise they are from the end of the last one, and may have changed since. */
  #isFresh: boolean;
  /** Whether the desired lines are known to be present: nothing was sent since the comparison. */
  #isIntact = false;
  /** Whether something was sent since the last read. */
  #isAhead = false;
  readonly #touched = new Set<string>();

  private constructor(instance: FrrInstance, memory: PassCache, identity: string, have: ConfigSet | undefined, signal: AbortSignal) {
    this.memory = memory;
    this.#instance = instance;
    this.#identity = identity;
    this.#signal = signal;
    this.#console = new ConfigSession(instance.router, signal);
    this.#have = have ?? new ConfigSet();
    this.#isFresh = have === undefined;
  }

  /** Uses the lines of the last pass if the daemons are the same; otherwise reads. */
  static async of(instance: FrrInstance, prepare: (memory: PassCache) => void, signal: AbortSignal): Promise<RunningState> {
    const { router } = instance;
    const memory = PassCache.take(instance, await router.version(signal));
    const identities = await Promise.all(memory.dialect.daemons.map((daemon) => router.identity(daemon)));
    const identity = identities.join(" ");
    prepare(memory);
    const running = new RunningState(instance, memory, identity, memory.lastRead(identity), signal);
    if (running.#isFresh) await running.read();
    else if (memory.isTrusted) running.#isIntact = true;
    else running.compare();
    return running;
  }

  get have(): ConfigSet {
    return this.#have;
  }

  get isFresh(): boolean {
    return this.#isFresh;
  }

  get isIntact(): boolean {
    return this.#isIntact;
  }

  /** Whether the lines may have changed since they were read. */
  get isToBeRead(): boolean {
    return this.#isAhead || !this.#isFresh;
  }

  hasTouched({ key }: ConfigEntry): boolean {
    return this.#touched.has(key);
  }

  get configuration(): string {
    // The script also compares lines about FRR and vtysh themselves, and the machine's host name.
    const itself = new Set([`hostname ${hostname()}`]);
    for (const { path, line } of this.#have) if (isBuiltInLine(path, line) && !/^(hostname|no banner) /.test(line)) itself.add(line);
    return this.memory.dialect.text([...[...itself].map((line) => ({ line })), ...merge([...this.memory.fragments.values()])]);
  }

  async read(): Promise<void> {
    this.#have = await this.memory.dialect.read(this.#instance.router, this.#signal);
    this.#isFresh = true;
    this.#isAhead = false;
    this.compare();
  }

  compare(): { stray: readonly ConfigEntry[]; missing: readonly ConfigEntry[] } {
    const { stray, missing } = this.memory.differences(this.#have);
    this.#isIntact = stray.length === 0 && missing.length === 0;
    return { stray, missing };
  }

  hasAll(entries: readonly ConfigEntry[]): boolean {
    return this.#isIntact || entries.every((entry) => this.#have.has(entry));
  }

  /** Replaces the lines of an owner. If FRR rejects one, the earlier lines are restored. */
  async exchange(owner: string, entries: readonly ConfigEntry[]): Promise<FragmentOutcome> {
    const { desired } = this.memory;
    const before = desired.of(owner);
    const leaving = desired.set(owner, entries).flatMap((entry) => this.memory.everywhere(entry, this.#have));
    const outcome = await this.send(changes(this.#have, { remove: leaving, add: entries, wanted: (entry) => desired.has(entry) }));
    if (outcome.rejected) desired.set(owner, before);
    return outcome;
  }

  async send(list: readonly LineChange[]): Promise<FragmentOutcome> {
    if (list.length === 0) return NO_CHANGE;
    const attempt = this.#attempt();
    const rejected = await attempt.send(list);
    if (rejected) await attempt.rollback();
    return { sent: attempt.sent.length, lines: attempt.sent, ...(rejected && { rejected }) };
  }

  async trySending(list: readonly LineChange[]): Promise<void> {
    const attempt = this.#attempt();
    for (const change of list) await attempt.try(change);
  }

  /** Applies the whole configuration with FRR's script and reads the result. Returns its message if it fails. */
  async reload(): Promise<string | undefined> {
    let problem: string | undefined;
    try {
      await reload(this.#instance, this.configuration, this.#signal);
    } catch (error) {
      if (!(error instanceof FrrError) || error.code !== "ReloadFailed") throw error;
      problem = masked(error.message);
    }
    await this.read();
    return problem;
  }

  /** Ends the pass and stores its state for the next one. */
  close(left: "clean" | "trusted" | "in doubt"): void {
    this.#console.close();
    if (left === "clean") this.memory.isClean(this.#have, this.#identity);
    else if (left === "trusted") this.memory.trust(this.#have, this.#identity);
    else this.memory.isInDoubt();
    this.memory.keepFor(this.#instance);
  }

  #attempt(): Transaction {
    this.#isIntact = false;
    this.#isAhead = true;
    return new Transaction(this.#have, this.#console, this.#touched);
  }
}

export function lineTexts(entries: readonly ConfigEntry[]): string[] {
  return [...new Set(entries.map(describe))];
}
