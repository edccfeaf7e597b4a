import { hasWork, ownParts, type Pass, PassPlanner, PEER_AT_REST_MS, type Progress, type PolicyScope } from "./pass.ts";
import { isDeepStrictEqual } from "node:util";
import { FailoverPolicy } from "../api/failover/failover-policy.ts";
import { keyOf } from "../api/kind.ts";
import { backoffMs } from "../util/backoff.ts";
import type { Cache, Change } from "../kube/cache/cache.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { controller, type Result, type Runnable } from "../kube/controller/controller.ts";
import type { Manager } from "../kube/controller/manager.ts";
import { ChannelSource, changesOf } from "../kube/controller/source.ts";
import type { EventRecorder } from "../kube/events/events.ts";
import type { Log } from "../kube/log.ts";
import type { WriteBudget } from "../kube/status/budget.ts";
import { StatusWriter } from "../kube/status/status-writer.ts";
import { writeClaims } from "../kube/status/write-claims.ts";
import { act, type WriteDeps, hasFinalizer, removeFinalizer, mayRemoveFinalizer, stillFailingWrites, type WriteResult } from "./act.ts";
import { CachedReader } from "./observe/cached-reader.ts";
import { ClaimIndex } from "./claims.ts";
import { removeMetrics, recordMetrics } from "./metrics.ts";
import { affects, type WatchedKind, type WatchedKinds, watchedKindsOf } from "./observe/watched-kinds.ts";
import { statusChanges } from "./events.ts";
import { Peers } from "./token/peers.ts";
import { report } from "./report.ts";
import { isExternal, ServedKinds } from "./observe/served-kinds.ts";
import { managedBy, type Managed } from "./policy/managed.ts";

export interface FailoverOptions {
  /** Fenced if there is an election: only the leader switches. */
  client: KubeClient;
  log: Log;
  events: Pick<EventRecorder, "record">;
  budget: WriteBudget;
  /** The annotation with which external-dns marks the names that it owns. */
  dnsAnnotation?: string;
  /** Namespaces whose policies may act in every namespace; `*` is all of them. */
  everywhere?: readonly string[];
  /** How long a missing kind is cached. */
  absentMs?: number;
}

export interface PolicyControllerOptions extends FailoverOptions {
  policies: Cache<FailoverPolicy>;
  writer: Pick<StatusWriter<FailoverPolicy>, "set" | "forget">;
  peers: Pick<Peers, "ask" | "close">;
}

const WORKERS = 8;
/** How long to wait for the watches after a write; then the server is read. */
const CATCH_UP_MS = 1_000;
const RETRY = { minMs: 25, maxMs: 5_000 };
const RECHECK_MS = 5_000;
/** After this many conflicts in a row, report it. */
const MAX_CONFLICTS = 6;

export function addFailover(manager: Manager, options: FailoverOptions): void {
  const { client, log, budget } = options;
  const policies = manager.lateCache(FailoverPolicy);
  const writer = new StatusWriter<FailoverPolicy>({ kind: FailoverPolicy, client, cache: policies, budget, log });
  const peers = new Peers(client, { mustRead: true, uidOf: (key) => policies.get(key)?.metadata.uid });
  manager.add(new PolicyController({ ...options, policies, writer, peers }), { leaderOnly: true });
  manager.add(writer, { phase: "writers", leaderOnly: true });
}

/**
 * Switches the site of each policy. A pass plans on the caches; if there is something to write, it reads live, plans again, and executes
 * that plan.
 */
export class PolicyController implements Runnable {
  readonly name = "failover";
  readonly #options: PolicyControllerOptions;
  readonly #channel = new ChannelSource();
  readonly #served: ServedKinds;
  readonly #reader: CachedReader;
  readonly #planner: PassPlanner;
  #claims = new ClaimIndex();
  readonly #scopes = new Map<string, PolicyScope>();
  readonly #progress = new Map<string, Progress>();
  /** The discovery version of the followed kinds; undefined if scopes have changed since. */
  #followed: number | undefined;

  constructor(options: PolicyControllerOptions) {
    const { client, log, absentMs } = options;
    this.#options = options;
    this.#served = new ServedKinds(client, absentMs);
    const onChange = (kind: WatchedKind, namespace: string, name: string) => {
      for (const [key, { watched }] of this.#scopes) if (affects(watched, kind, namespace, name)) this.#channel.ring(key);
    };
    this.#reader = new CachedReader({ client, served: this.#served, log, onChange });
    const contested = (policy: FailoverPolicy, managed: readonly Managed[]) => this.#claims.contested(policy, managed);
    this.#planner = new PassPlanner({ ...options, served: this.#served, reader: this.#reader, contested });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { policies, log } = this.#options;
    const unsubscribe = policies.subscribe((change) => this.#onChange(change));
    const switching = controller(this.name, {
      watches: [changesOf(policies), this.#channel],
      log,
      workers: WORKERS,
      reconcile: (key, context) => this.#reconcile(key, context.signal, context.log),
    });
    try {
      await switching.run(signal);
    } finally {
      unsubscribe();
      this.#reader.stop();
      this.#options.peers.close();
      for (const key of this.#scopes.keys()) removeMetrics(key);
      this.#claims = new ClaimIndex();
      this.#scopes.clear();
      this.#progress.clear();
      this.#followed = undefined;
    }
  }

  #onChange({ type, object }: Change<FailoverPolicy>): void {
    const key = keyOf(object);
    if (type === "deleted") {
      this.#scopes.delete(key);
      this.#followed = undefined;
      this.#progress.delete(key);
      this.#options.writer.forget(key);
      removeMetrics(key);
      for (const rival of this.#claims.strike(key)) this.#channel.ring(rival);
      return;
    }
    const { uid, generation } = object.metadata;
    const before = this.#scopes.get(key);
    const isSame = before?.uid === uid && before?.generation === generation;
    const managed = before && isSame ? before.managed : managedBy(object).managed;
    if (!isSame) {
      this.#scopes.set(key, { uid, generation, managed, watched: watchedKindsOf(managed, object) });
      this.#followed = undefined;
    }
    if (before?.uid !== uid) this.#progress.set(key, { writeFailures: [], conflicts: 0 });
    const rivals = this.#claims.enter(object, managed, new Date());
    if (!isSame) for (const rival of rivals) this.#channel.ring(rival);
  }

  async #reconcile(key: string, signal: AbortSignal, log: Log): Promise<Result> {
    const policy = this.#options.policies.get(key);
    const [scope, progress] = [this.#scopes.get(key), this.#progress.get(key)];
    if (!policy || !scope || !progress) return undefined;

    const behindMs = this.#behindMs(progress);
    if (behindMs > 0) return { requeueAfter: behindMs };
    await this.#follow(scope.watched, signal);
    if (await this.#recordsClaims(policy, scope, signal)) return { requeueAfter: CATCH_UP_MS };

    const pass = await this.#planner.observe(policy, scope, progress, signal);
    if (!pass) return { requeueAfter: CATCH_UP_MS };
    progress.writeFailures = stillFailingWrites(progress.writeFailures, pass.plan);
    const outcome = await this.#act(pass, { client: this.#options.client, log }, () => this.#report(key, progress, pass), signal);
    if (!outcome) return this.#requeue(progress, pass);

    progress.conflicts = outcome.again ? progress.conflicts + 1 : 0;
    progress.writeFailures = progress.conflicts < MAX_CONFLICTS ? outcome.failures : [...outcome.failures, ...outcome.conflictFailures];
    progress.awaited = { written: outcome.written, since: performance.now() };
    this.#report(key, progress, pass);
    if (outcome.again) return { requeueAfter: backoffMs(progress.conflicts, RETRY) };
    return { requeueAfter: outcome.failures.length > 0 ? RECHECK_MS : CATCH_UP_MS };
  }

  /** How long to wait until the watches include our last write; 0 if they do, or will not. */
  #behindMs(progress: Progress): number {
    if (!progress.awaited || this.#reader.hasCaughtUp(progress.awaited.written)) {
      progress.awaited = undefined;
      return 0;
    }
    return Math.max(0, progress.awaited.since + CATCH_UP_MS - performance.now());
  }

  async #follow(watched: WatchedKinds, signal: AbortSignal): Promise<void> {
    // Whether KEDA is installed matters only for writes, and is checked again then.
    const wanted = [...watched.keys()].filter(isExternal).filter((kind) => kind !== "ScaledObject" || !this.#served.knows(kind));
    await this.#served.ask(wanted, signal);
    if (this.#followed !== this.#served.changes) {
      this.#reader.follow([...this.#scopes.values()].map((scope) => scope.watched));
      this.#followed = this.#served.changes;
    }
    await this.#reader.waitUntilRead(watched, signal);
  }

  /** Whether the claims had to be written: nothing else may be written before. */
  async #recordsClaims(policy: FailoverPolicy, { managed }: PolicyScope, signal: AbortSignal): Promise<boolean> {
    const claims = this.#claims.record(policy, managed, new Date());
    const recorded = policy.status?.claims ?? [];
    if (policy.metadata.deletionTimestamp !== undefined || isDeepStrictEqual(claims, recorded)) return false;
    const release = recorded.some(({ claim }) => !claims.some((one) => one.claim === claim));
    await writeClaims({ ...this.#options, signal }, FailoverPolicy, policy, { claims, release });
    return true;
  }

  /** Undefined if there is nothing to write. The status is reported before the writes, if possible. */
  async #act(pass: Pass, deps: WriteDeps, report: () => void, signal: AbortSignal): Promise<WriteResult | undefined> {
    const { policy, plan, isLive } = pass;
    if (isLive && hasWork(pass)) return act(plan, policy, { ...deps, onPolicyWritten: report }, signal);
    report();
    if (hasFinalizer(policy) && mayRemoveFinalizer(policy, plan)) return removeFinalizer(policy, deps, signal);
    return undefined;
  }

  #requeue(progress: Progress, { policy, plan, isLive }: Pass): Result {
    progress.conflicts = 0;
    // The live read has replaced what the watches lack.
    progress.awaited = undefined;
    const peerMs = policy.spec.peer && (plan.complete ? PEER_AT_REST_MS : RECHECK_MS);
    // On live data the work may already be done.
    const againMs = isLive && !plan.complete ? RECHECK_MS : Infinity;
    const requeueAfter = Math.min(plan.requeueAfterMs ?? Infinity, peerMs ?? Infinity, againMs);
    return Number.isFinite(requeueAfter) ? { requeueAfter } : undefined;
  }

  #report(key: string, progress: Progress, { policy, plan, peer, now }: Pass): void {
    const current = this.#options.policies.get(key);
    // It may have been deleted meanwhile.
    if (!current || current.metadata.uid !== policy.metadata.uid) return;
    const before = progress.published ?? policy.status;
    const next = report(before, policy, plan, { failures: progress.writeFailures, peer }, now);
    const changes = statusChanges(before, next);
    // The age of the copy may be in the metrics only.
    recordMetrics(key, next, plan, progress.writeFailures, changes);
    if (isDeepStrictEqual(next, progress.published)) return;
    progress.published = next;
    for (const event of changes.events) this.#options.events.record(current, event);
    this.#options.writer.set(key, {
      ...(current.metadata.uid !== undefined && { uid: current.metadata.uid }),
      status: (before) => ownParts(next, before),
    });
  }
}
