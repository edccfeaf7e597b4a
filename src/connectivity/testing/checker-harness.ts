import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, vi } from "vitest";
import { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { type Condition, keyOf } from "../../api/kind.ts";
import { metaTime } from "../../api/time.ts";
import type { Change } from "../../kube/cache/cache.ts";
import { createLog } from "../../kube/log.ts";
import { ApiModel } from "../../kube/testing/api-model.ts";
import { WriteBudget } from "../../kube/status/budget.ts";
import { StatusWriter } from "../../kube/status/status-writer.ts";
import { reachableOf } from "../history/activity.ts";
import type { Attempt } from "../history/attempt.ts";
import { CheckJournal } from "../journal/journal.ts";
import type { Target } from "../probe/target.ts";
import { Checker } from "../checker/checker.ts";
import { STATUS_RULES } from "../checker/status-rules.ts";

type Check = PodNetworkConnectivityCheck;

export const MINUTE = 60_000;
export const TARGET = "10.0.134.23:2379";
const log = createLog({ level: "silent" });

/** A process: once it is killed, nothing leaves it any more. */
interface Life {
  readonly journal: CheckJournal;
  readonly stop: AbortController;
  readonly stopWriting: AbortController;
  readonly running: Promise<unknown>;
}

/** The source `p1` on a model of an API server, in fake time from 2026-11-16T08:00:00 on. */
export class CheckerHarness {
  readonly api: ApiModel<Check>;
  readonly name: string;
  readonly events: string[] = [];
  readonly tried: string[] = [];
  /** Why a target is not reached, or `fault` and why it could not be tried; what is not in here is reached. */
  readonly broken = new Map<string, string>();
  readonly #directory: string;
  readonly #keys: Set<string>;
  #life: Life | undefined;
  #beside: CheckerHarness | undefined;

  constructor(directory: string, { name = "p1-a", api = new ApiModel<Check>(), keys = new Set<string>() } = {}) {
    this.#directory = directory;
    this.name = name;
    this.api = api;
    this.#keys = keys;
  }

  /** Another process for the same source, with a disk of its own. */
  beside(): CheckerHarness {
    this.#beside = new CheckerHarness(join(this.#directory, "beside"), { name: "p1-b", api: this.api, keys: this.#keys });
    return this.#beside;
  }

  add(name: string, target = TARGET, { annotations = {}, sourcePod = "p1" } = {}): string {
    const metadata = { name, namespace: "shop", generation: 1, annotations };
    this.api.add({ metadata, spec: { sourcePod, targetEndpoint: target } });
    const key = keyOf({ metadata });
    this.#keys.add(key);
    return key;
  }

  async start(): Promise<void> {
    const { journal, recovered } = await CheckJournal.open(this.#directory, { log });
    const [stop, stopWriting] = [new AbortController(), new AbortController()];
    const requests = this.api.resource();
    const alive = <R>(request: () => R): R => {
      if (this.#life?.stopWriting !== stopWriting) throw new Error("killed");
      return request();
    };
    const client: typeof requests = {
      ...requests,
      get: (...args) => alive(() => requests.get(...args)),
      patchStatus: (...args) => alive(() => requests.patchStatus(...args)),
    };
    const writer = new StatusWriter<Check>({
      kind: PodNetworkConnectivityCheck,
      client: { resource: () => client },
      cache: this.api.cache,
      budget: new WriteBudget(),
      log,
      ...STATUS_RULES,
    });
    const source = new Checker({
      checks: { ...this.api.cache, subscribe: (listener) => this.#subscribe(listener) },
      targetOf: (check) => (check.spec.sourcePod === "p1" ? check.spec.targetEndpoint : undefined),
      writer,
      log,
      claimant: { name: this.name, started: metaTime(new Date()) },
      events: { record: ({ metadata }, { reason, message }) => this.events.push(`${metadata.name} ${reason} ${message}`) },
      journal,
      recovered,
      allowed: [],
      probe: (target, seq, signal) => this.#probe(target, seq, signal),
    });
    this.#life = { journal, stop, stopWriting, running: Promise.all([source.run(stop.signal), writer.run(stopWriting.signal)]) };
    await pass(2_000);
  }

  /** As with SIGTERM: the last word is still written. */
  async end(): Promise<void> {
    if (!this.#life) return;
    const { journal, stop, stopWriting, running } = this.#life;
    stop.abort();
    await pass(1_000);
    stopWriting.abort();
    await pass(30_000);
    await running;
    await journal.close();
    this.#life = undefined;
  }

  /** As with SIGKILL: what is neither on the disk nor at the API is gone. */
  async kill(): Promise<void> {
    await this.#beside?.kill();
    if (!this.#life) return;
    const { journal, stop, stopWriting, running } = this.#life;
    await journal.close();
    this.#life = undefined;
    stop.abort();
    stopWriting.abort();
    await pass(30_000);
    await running;
  }

  async loseDisk(): Promise<void> {
    await this.kill();
    await rm(this.#directory, { recursive: true });
  }

  status(key: string): NonNullable<Check["status"]> {
    return this.api.object(key)?.status ?? {};
  }

  condition(key: string): Condition | undefined {
    const check = this.api.object(key);
    return check && reachableOf(check);
  }

  /** `True ConnectDone` */
  verdict(key: string): string {
    const { status, reason } = this.condition(key) ?? {};
    return `${status} ${reason}`;
  }

  /** `08:01:03-08:04:03`, newest first. */
  outages(key: string): string[] {
    return (this.status(key).outages ?? []).map(({ start, end }) => `${start?.slice(11, 19)}-${end?.slice(11, 19) ?? ""}`);
  }

  /** As a cache does: first what is there, once it is whole. */
  #subscribe(listener: (change: Change<Check>) => void): () => void {
    for (const key of this.api.cache.synced ? this.#keys : []) {
      const object = this.api.cache.get(key);
      if (object) listener({ type: "added", object, initial: true });
    }
    return this.api.cache.subscribe(listener);
  }

  async #probe({ text, port }: Target, seq: number, signal: AbortSignal): Promise<Attempt> {
    const at = Date.now();
    await new Promise((resolve) => setTimeout(resolve, 5));
    signal.throwIfAborted();
    this.tried.push(text);
    const why = this.broken.get(text) ?? this.broken.get(String(port));
    const attempt = { seq, at, target: text };
    if (why?.startsWith("fault ")) {
      const notObserved = why.startsWith("fault Not observed") ? { isNotObserved: true as const } : {};
      return { ...attempt, actions: [], reachable: false, fault: why.slice(6), ...notObserved };
    }
    const [outcome, message] = why
      ? (["ConnectError", `Failed connect to ${text}; ${why}`] as const)
      : (["ConnectDone", `Connected to ${text}`] as const);
    return { ...attempt, reachable: !why, actions: [{ outcome, at, latencyMs: 5, message }] };
  }
}

export const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

/** Gives each test a stage of its own. */
export function useCheckerHarness(): () => CheckerHarness {
  let harness: CheckerHarness;
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "plumbline-source-"));
    vi.useFakeTimers({ now: new Date("2026-11-16T08:00:00Z") });
    harness = new CheckerHarness(directory);
  });
  afterEach(async () => {
    await harness.kill();
    vi.useRealTimers();
    await rm(directory, { recursive: true, force: true });
  });
  return () => harness;
}
