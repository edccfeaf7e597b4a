import { PodNetworkConnectivityCheck } from "../api/connectivity/pod-network-connectivity-check.ts";
import { metaTime } from "../api/time.ts";
import type { Cache } from "../kube/cache/cache.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { controller, type Result, type Runnable } from "../kube/controller/controller.ts";
import { changesOf, type Source } from "../kube/controller/source.ts";
import type { Log } from "../kube/log.ts";
import type { AgentWatch } from "../kube/members/agent-watch.ts";
import { checksStale } from "./metrics.ts";
import { type WriteBudget, writeWithBudget } from "../kube/status/budget.ts";
import { setCondition, withTransitionTimes } from "../kube/status/conditions.ts";
import { activityOf, isStale, reachableOf } from "./history/activity.ts";
import { type SourceObservation, type SourceLiveness, staleness } from "./history/stale.ts";
import { nodeOf, podOf } from "./source-of-check.ts";
import type { UnknownReason } from "./history/reasons.ts";

const STALE: UnknownReason = "Stale";

type Signs = Pick<AgentWatch, "silence" | "knows" | "lacks" | "subscribe" | "ready">;

export interface StaleMarkerOptions {
  /** Fenced: only the leader marks. */
  client: KubeClient;
  log: Log;
  budget: WriteBudget;
  /** With the indexes of `sourceIndexes`. */
  checks: Cache<PodNetworkConnectivityCheck>;
  /** By node. */
  agents: Signs;
  /** By `namespace/pod`. */
  pods: Signs;
  /** Only there a check's source may be a node. */
  systemNamespace: string;
}

const LONGEST_LOSS_MS = 30_000;

type Check = PodNetworkConnectivityCheck;

interface Memory extends SourceObservation {
  readonly uid: string | undefined;
  /** The last status, and whether it is our mark. */
  readonly report: string;
  readonly isOurs: boolean;
}

/** Marks checks of silent sources as Unknown. The source reverts it when it returns. */
export class StaleMarker implements Runnable {
  readonly name = "stale-checks";
  readonly #options: StaleMarkerOptions;
  readonly #memories = new Map<string, Memory>();
  #lostAt: number | undefined;
  #clearSince = 0;

  constructor(options: StaleMarkerOptions) {
    this.#options = options;
    options.checks.onConnection((state) => this.#connection(state));
  }

  async run(signal: AbortSignal): Promise<void> {
    const { checks, agents, pods, log } = this.#options;
    const marking = controller(this.name, {
      watches: [changesOf(checks), this.#bySource("node", agents), this.#bySource("pod", pods)],
      log,
      workers: 4,
      reconcile: (key, context) => this.#reconcile(key, context.signal),
    });
    this.#clearSince = performance.now();
    try {
      await marking.run(signal);
    } finally {
      // Observations of this term are invalid in the next.
      this.#memories.clear();
    }
  }

  /** A watch is reopened every few minutes; only a longer loss counts. */
  #connection(state: "connected" | "lost"): void {
    const now = performance.now();
    if (state === "lost") this.#lostAt ??= now;
    else {
      if (this.#lostAt !== undefined && now - this.#lostAt > LONGEST_LOSS_MS) this.#clearSince = now;
      this.#lostAt = undefined;
    }
  }

  #bySource(index: "node" | "pod", signs: Signs): Source {
    const { checks } = this.#options;
    return {
      subscribe: (enqueue) =>
        signs.subscribe((source) => {
          for (const { metadata } of checks.by(index, source)) enqueue(`${metadata.namespace}/${metadata.name}`);
        }),
      ready: (signal) => signs.ready(signal),
    };
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<Result> {
    const check = this.#options.checks.get(key);
    if (!check) {
      this.#memories.delete(key);
      return undefined;
    }
    const observation = this.#see(key, check);
    const verdict = this.#judge(check, observation);
    if (!verdict) return undefined;
    if ("againMs" in verdict) return { requeueAfter: verdict.againMs };
    if (await this.#mark(key, check, signal)) this.#memories.set(key, { ...observation, markedAt: performance.now() });
    return undefined;
  }

  #see(key: string, check: Check): Memory {
    const { uid } = check.metadata;
    const now = performance.now();
    const known = this.#memories.get(key);
    const before = known?.uid === uid ? known : undefined;
    const reachable = reachableOf(check);
    const isOurs = reachable !== undefined && isStale(reachable);
    const report = isOurs ? (before?.report ?? "") : `${activityOf(check)} ${reachable?.status} ${reachable?.reason} ${reachable?.message}`;
    // Reverting our mark counts as a report, even with an old result.
    const isHeard = before !== undefined && !isOurs && (before.isOurs || report !== before.report);
    const memory: Memory = { uid, since: now, ...before, report, isOurs, ...(isHeard && { heardAt: now }) };
    this.#memories.set(key, memory);
    return memory;
  }

  #judge(check: Check, observation: SourceObservation): ReturnType<typeof staleness> {
    const { systemNamespace } = this.#options;
    if (this.#lostAt !== undefined) return { againMs: LONGEST_LOSS_MS };
    const node = nodeOf(check, systemNamespace);
    const sign = node === undefined ? signOf(this.#options.pods, podOf(check)) : signOf(this.#options.agents, node);
    return staleness(check, sign, { ...observation, since: Math.max(observation.since, this.#clearSince) }, performance.now());
  }

  async #mark(key: string, { metadata }: Check, signal: AbortSignal): Promise<boolean> {
    const { client, budget, checks, log } = this.#options;
    return writeWithBudget(budget, "transition", signal, async () => {
      // The source may have returned meanwhile.
      const check = checks.get(key);
      if (check?.metadata.uid !== metadata.uid) return false;
      const verdict = check && this.#judge(check, this.#see(key, check));
      if (!verdict || !("message" in verdict)) return false;
      const { generation, resourceVersion = "" } = check.metadata;
      const existing = check.status?.conditions ?? [];
      const observed = generation === undefined ? {} : { observedGeneration: generation };
      const report = { type: "Reachable", status: "Unknown" as const, reason: STALE, message: verdict.message, ...observed };
      const conditions = withTransitionTimes(setCondition(existing, report), existing, metaTime(new Date()));
      await client
        .resource(PodNetworkConnectivityCheck)
        .patchStatus(check.metadata, { status: { conditions } }, { resourceVersion, signal });
      checksStale.inc();
      log.info({ key }, "source not reporting, check marked Unknown");
      return true;
    });
  }
}

function signOf(signs: Signs, name: string): SourceLiveness {
  const silence = signs.silence(name);
  if (silence) return { is: "silent", since: silence.since };
  if (signs.lacks(name, "connectivity")) return { is: "off" };
  return { is: signs.knows(name) ? "alive" : "none" };
}
