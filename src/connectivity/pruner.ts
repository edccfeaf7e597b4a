import { PodNetworkConnectivityCheck, sourceOf } from "../api/connectivity/pod-network-connectivity-check.ts";
import { Node } from "../api/core/node.ts";
import { Pod } from "../api/core/pod.ts";
import { keyOf } from "../api/kind.ts";
import type { Cache } from "../kube/cache/cache.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { isKubeError } from "../kube/client/error.ts";
import { sleep } from "../util/sleep.ts";
import type { Runnable } from "../kube/controller/controller.ts";
import type { EventRecorder } from "../kube/events/events.ts";
import type { Log } from "../kube/log.ts";
import { checksPruned } from "./metrics.ts";
import { activityOf } from "./history/activity.ts";
import { nodeOf } from "./source-of-check.ts";
import { metaTime } from "../api/time.ts";
import { retiredAnnotation } from "../api/annotations.ts";

export interface PrunerOptions {
  /** Fenced if there is an election. */
  client: KubeClient;
  checks: Pick<Cache<PodNetworkConnectivityCheck>, "get" | "list" | "lastHeard" | "waitForSync">;
  events: Pick<EventRecorder, "record">;
  log: Log;
  /** Whether a mesh wants the check; without meshes, none does. */
  wants?: (check: PodNetworkConnectivityCheck) => boolean;
  /** Only there a check's source may be a node. */
  systemNamespace?: string;
  /** 48 hours by default. */
  inactiveMs?: number;
  /** Only logs what it would delete. */
  dryRun?: boolean;
}

const INTERVAL_MS = 60_000;
/** One per second, and only as many as fit between two rounds. */
const MAX_DELETES = 30;
const BETWEEN_MS = 1_000;
/** The limit of reads per round; an existing source is read again after an hour: there may be thousands of checks without probes. */
const MAX_SOURCE_READS = 100;
const ASK_AGAIN_MS = 3_600_000;

interface Quiet {
  readonly uid: string | undefined;
  readonly activity: number;
  /** In monotonic milliseconds. */
  readonly since: number;
}

/**
 * Deletes checks that have been inactive for 48 hours, are wanted by no mesh, and whose source is gone. It watches for an hour before it
 * deletes, and again after every break of the watch.
 */
export class Pruner implements Runnable {
  readonly name = "pruner";
  readonly #options: PrunerOptions;
  readonly #quiet = new Map<string, Quiet>();
  /** Checks that were kept after a read, and when, in monotonic milliseconds. */
  readonly #stayed = new Map<string, number>();
  /** Checks that a dry run has logged. */
  readonly #reported = new Set<string>();
  #reader = new ObservationWindow();
  #clearSince = 0;

  constructor(options: PrunerOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { checks, log } = this.#options;
    this.#reader = new ObservationWindow();
    this.#quiet.clear();
    this.#stayed.clear();
    try {
      await checks.waitForSync(signal);
      while (!signal.aborted) {
        try {
          await this.#observe(signal);
        } catch (error) {
          if (signal.aborted) break;
          log.warn({ error }, "pruning failed, retrying");
        }
        await sleep(INTERVAL_MS * (0.9 + Math.random() / 5), signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #observe(signal: AbortSignal): Promise<void> {
    const { checks } = this.#options;
    const steady = performance.now();
    this.#clearSince = this.#reader.observe({ steady, wall: Date.now(), heardAt: checks.lastHeard });
    const existing = checks.list();
    this.#watch(existing, steady);
    let [sourceReads, pruned] = [0, 0];
    for (const check of existing) {
      if (pruned === MAX_DELETES || sourceReads === MAX_SOURCE_READS) return;
      const key = keyOf(check);
      if ("keep" in this.#judge(check, false) || steady < (this.#stayed.get(key) ?? -Infinity) + ASK_AGAIN_MS) continue;
      sourceReads += 1;
      if (await this.#tryToPrune(key, signal)) {
        pruned += 1;
        await sleep(BETWEEN_MS, signal);
      } else this.#stayed.set(key, steady);
    }
  }

  #watch(existing: readonly PodNetworkConnectivityCheck[], steady: number): void {
    const keys = new Set(existing.map(keyOf));
    for (const known of [this.#quiet, this.#stayed]) for (const key of known.keys()) if (!keys.has(key)) known.delete(key);
    for (const check of existing) {
      const { uid } = check.metadata;
      const [key, activity, before] = [keyOf(check), activityOf(check), this.#quiet.get(keyOf(check))];
      if (before?.uid !== uid || before?.activity !== activity) this.#quiet.set(key, { uid, activity, since: steady });
    }
  }

  #judge(check: PodNetworkConnectivityCheck, sourceLives: boolean): Pruning {
    const { client, wants = () => false, inactiveMs } = this.#options;
    const quiet = this.#quiet.get(keyOf(check));
    const isKnown = quiet && quiet.uid === check.metadata.uid && quiet.activity === activityOf(check);
    const quietMs = isKnown ? performance.now() - Math.max(quiet.since, this.#clearSince) : 0;
    // The earlier of the two clocks decides.
    const now = Math.min(Date.now(), client.serverTime ?? Infinity);
    return pruneDecision(check, { now, quietMs, isWanted: wants(check), sourceLives, ...(inactiveMs !== undefined && { inactiveMs }) });
  }

  /** A forbidden read or delete does not block the others. */
  async #tryToPrune(key: string, signal: AbortSignal): Promise<boolean> {
    try {
      return await this.#prune(key, signal);
    } catch (error) {
      if (!isKubeError(error, "Forbidden", "Invalid")) throw error;
      this.#options.log.warn({ key, error }, "check not pruned");
      return false;
    }
  }

  async #prune(key: string, signal: AbortSignal): Promise<boolean> {
    const { client, checks, events, log, dryRun } = this.#options;
    const sourceLives = await this.#sourceLives(checks.get(key), signal);
    const check = checks.get(key);
    const { uid, resourceVersion } = check?.metadata ?? {};
    if (!check || uid === undefined || resourceVersion === undefined) return false;
    const pruning = this.#judge(check, sourceLives);
    if ("keep" in pruning) return false;
    if (dryRun) {
      if (!this.#reported.has(uid)) {
        log.info({ key, why: pruning.prune }, "check would be deleted");
        checksPruned.inc({ outcome: "dry_run" });
      }
      this.#reported.add(uid);
      return false;
    }
    try {
      await client.resource(PodNetworkConnectivityCheck).delete(check.metadata, { uid, resourceVersion, signal });
    } catch (error) {
      if (!isKubeError(error, "Conflict", "NotFound")) throw error;
      checksPruned.inc({ outcome: "kept" });
      return false;
    }
    checksPruned.inc({ outcome: "deleted" });
    log.info({ key, why: pruning.prune }, "check deleted");
    events.record(check, { type: "Normal", reason: "ConnectivityCheckPruned", message: `${pruning.prune}; deleted` });
    return true;
  }

  /** Read from the server: a deletion is final. */
  async #sourceLives(check: PodNetworkConnectivityCheck | undefined, signal: AbortSignal): Promise<boolean> {
    if (!check) return true;
    const { client, systemNamespace = "" } = this.#options;
    const node = nodeOf(check, systemNamespace);
    const { namespace = "" } = check.metadata;
    try {
      if (node !== undefined) {
        await client.resource(Node).get(node, { signal });
        return true;
      }
      const { status } = await client.resource(Pod).get(sourceOf(check), { namespace, signal });
      return status?.phase !== "Succeeded" && status?.phase !== "Failed";
    } catch (error) {
      if (isKubeError(error, "NotFound")) return false;
      throw error;
    }
  }
}

export const INACTIVE_MS = 48 * 3_600_000;
/** How long the pruner must have watched the inactivity: after a long outage of the API every check looks abandoned. */
export const WATCHED_MS = 3_600_000;

export interface PruneView {
  readonly now: number;
  /** How long the pruner has watched the check without a break or a change. */
  readonly quietMs: number;
  readonly isWanted: boolean;
  readonly sourceLives: boolean;
  readonly inactiveMs?: number;
}

type Pruning = { readonly prune: string } | { readonly keep: string };

export function pruneDecision(check: PodNetworkConnectivityCheck, view: PruneView): Pruning {
  const { now, quietMs, isWanted, sourceLives, inactiveMs = INACTIVE_MS } = view;
  const { deletionTimestamp, ownerReferences, annotations } = check.metadata;
  if (deletionTimestamp !== undefined) return { keep: "it is being deleted" };
  const [owner] = ownerReferences ?? [];
  if (owner) return { keep: `it is owned by ${owner.kind} ${owner.name}` };
  if (isWanted) return { keep: "a mesh requires it" };
  const activity = activityOf(check);
  // A time in the future comes from a wrong clock.
  if (!Number.isFinite(activity) || now - activity < inactiveMs)
    return { keep: `it was active within the last ${inactiveMs / 3_600_000} hours` };
  if (quietMs < WATCHED_MS) return { keep: "it has not been observed long enough" };
  const retired = annotations?.[retiredAnnotation];
  if (sourceLives && retired === undefined) return { keep: `its source ${sourceOf(check)} exists` };
  const why = retired === undefined ? `its source ${sourceOf(check)} is gone` : "no mesh requires it";
  return { prune: `No activity since ${metaTime(new Date(activity))}, and ${why}` };
}

/** Tracks since when the watch has no break, by a monotonic and the wall clock. */
interface ClockReading {
  /** Monotonic, which stops while the machine sleeps. */
  readonly steady: number;
  readonly wall: number;
  /** The last data from the API, in monotonic milliseconds. */
  readonly heardAt: number | undefined;
}

/** Without data for this long the API is unreachable: it sends a bookmark every minute. */
const LONGEST_QUIET_MS = 180_000;
/** A longer gap between two readings means that the process was suspended. */
const LONGEST_GAP_MS = 180_000;
/** A larger difference between the clocks means that the wall clock was set. */
const LARGEST_STEP_MS = 60_000;

export class ObservationWindow {
  #last: ClockReading | undefined;
  #since = 0;

  observe(moment: ClockReading): number {
    const { steady, wall, heardAt = -Infinity } = moment;
    const [slept, moved] = this.#last ? [steady - this.#last.steady, wall - this.#last.wall] : [Infinity, 0];
    const isBroken = slept > LONGEST_GAP_MS || Math.abs(moved - slept) > LARGEST_STEP_MS || steady - heardAt > LONGEST_QUIET_MS;
    if (isBroken) this.#since = steady;
    this.#last = moment;
    return this.#since;
  }
}
