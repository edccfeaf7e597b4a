import { partsAnnotation } from "../../api/annotations.ts";
import { Lease } from "../../api/core/lease.ts";
import { backoffMs } from "../../util/backoff.ts";
import type { Cache } from "../cache/cache.ts";
import type { KubeClient } from "../client/client.ts";
import { sleep, untilAborted } from "../../util/sleep.ts";
import type { Runnable } from "../controller/controller.ts";
import type { Source } from "../controller/source.ts";
import { withTimeout } from "../client/error.ts";
import type { Log } from "../log.ts";
import { statusCleanerDelays } from "../metrics.ts";
import { type AgentPart, lacksPart } from "./agent-lease.ts";
import {
  initialObservations,
  liveAgents,
  type Liveness,
  mayMarkUnknown,
  observe,
  type Renewal,
  type LeaseObservations,
} from "./liveness.ts";

/** An agent that stopped renewing: its last reports may be outdated. */
export interface MissedHeartbeats {
  node: string;
  /** The last renewal, for messages: by its own clock if it has a Lease. */
  since: Date;
}

export interface AgentWatchOptions {
  client: KubeClient;
  leases: Cache<Lease>;
  /** The node or other holder of the Lease; undefined for an unrelated Lease. */
  holderOf: (lease: Lease) => string | undefined;
  /** Nodes with reports, with or without a Lease. */
  reported: () => Iterable<string>;
  /** The live agents of the last leader's publication; undefined if there is none. */
  published: (signal: AbortSignal) => Promise<ReadonlySet<string> | undefined>;
  /** Called if so many expire at once that the own connection may be the cause. */
  onDoubt: (doubt: { expired: number; of: number }) => void;
  log: Log;
  durationMs?: number;
}

/** Watches the heartbeats of all agents. As a source it enqueues nodes whose agents appeared, expired, may be marked, or returned. */
export class AgentWatch implements Runnable, Source {
  readonly name = "agent-watch";
  readonly durationMs: number;
  readonly #options: AgentWatchOptions;
  readonly #listeners = new Set<(node: string) => void>();
  #begun = Promise.withResolvers<void>();
  #connected = true;
  #listedAt = -Infinity;
  #state: Liveness | undefined;
  #markable = new Set<string>();

  constructor(options: AgentWatchOptions) {
    this.#options = options;
    this.durationMs = options.durationMs ?? 30_000;
    options.leases.onConnection((state) => {
      this.#connected = state === "connected";
    });
  }

  /** Sorted; with `part`, only agents that run it. Undefined before the watch has begun. */
  living(part?: AgentPart): string[] | undefined {
    const living = this.#state && liveAgents(this.#state);
    return part === undefined ? living : living?.filter((node) => !this.lacks(node, part));
  }

  lacks(node: string, part: AgentPart): boolean {
    return lacksPart(this.#state?.agents.get(node)?.renewal?.parts, part);
  }

  /** Undefined if the reports of this node's agent must not be marked. */
  silence(node: string): MissedHeartbeats | undefined {
    const agent = this.#state?.agents.get(node);
    if (!agent || !this.#state || !mayMarkUnknown(this.#state, node, performance.now())) return undefined;
    const { renewal, observedAt } = agent;
    return { node, since: new Date(renewal?.renewTime ?? Date.now() - (performance.now() - observedAt)) };
  }

  knows(node: string): boolean {
    return this.#state?.agents.get(node)?.renewal !== undefined;
  }

  subscribe(enqueue: (node: string) => void): () => void {
    const listener = (node: string) => enqueue(node);
    for (const node of this.#markable) listener(node);
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  ready(signal: AbortSignal): Promise<void> {
    return untilAborted(this.#begun.promise, signal);
  }

  async run(signal: AbortSignal): Promise<void> {
    const tickMs = this.durationMs / 15;
    let failures = 0;
    let askAgainAt = 0;
    try {
      await this.#begin(signal, tickMs);
      while (!signal.aborted) {
        const ask = this.#observe(this.#observations());
        if (ask && performance.now() >= askAgainAt) {
          failures = (await this.#list(signal)) ? 0 : failures + 1;
          askAgainAt = failures === 0 ? 0 : performance.now() + backoffMs(failures, { minMs: tickMs, maxMs: this.durationMs });
        }
        await sleep(tickMs, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      // Observations of this term are invalid in the next.
      this.#state = undefined;
      this.#markable.clear();
      this.#begun = Promise.withResolvers();
    }
  }

  async #begin(signal: AbortSignal, tickMs: number): Promise<void> {
    await this.#options.leases.waitForSync(signal);
    for (let failures = 1; ; failures += 1) {
      try {
        const published = await this.#options.published(signal);
        this.#state = initialObservations(this.durationMs, this.#observations(), published, performance.now());
        this.#begun.resolve();
        for (const node of this.#state.agents.keys()) this.#tell(node);
        return;
      } catch (error) {
        signal.throwIfAborted();
        this.#options.log.warn({ error }, "could not read members, retrying");
        await sleep(backoffMs(failures, { minMs: tickMs, maxMs: this.durationMs }), signal);
      }
    }
  }

  #observations(): LeaseObservations {
    const { leases, reported } = this.#options;
    const heardAt = Math.max(leases.lastHeard ?? -Infinity, this.#listedAt);
    return { whole: this.#connected, listed: false, heardAt, renewals: this.#renewals(leases.list()), reported: reported() };
  }

  /** Returns whether the Leases must be read from the server. */
  #observe(observations: LeaseObservations): boolean {
    if (!this.#state) return false;
    const now = performance.now();
    const { state, changed, doubt, ask } = observe(this.#state, observations, now);
    this.#state = state;
    if (doubt) {
      statusCleanerDelays.inc();
      this.#options.log.warn(doubt, "many agents stopped reporting at once, checking again before marking them Unknown");
      this.#options.onDoubt(doubt);
    }
    const before = this.#markable;
    this.#markable = new Set([...state.agents.keys()].filter((node) => mayMarkUnknown(state, node, now)));
    for (const node of new Set([...changed, ...this.#markable.symmetricDifference(before)])) this.#tell(node);
    return ask;
  }

  async #list(signal: AbortSignal): Promise<boolean> {
    const { client, leases, log } = this.#options;
    const startedAt = performance.now();
    try {
      const { items } = await withTimeout(this.durationMs / 3, signal, (limited) =>
        client.resource(Lease).list({ ...leases.selection, signal: limited }),
      );
      this.#listedAt = startedAt;
      this.#observe({ ...this.#observations(), listed: true, renewals: this.#renewals(items) });
      return true;
    } catch (error) {
      if (!signal.aborted) log.warn({ error }, "could not list Leases, no agent is marked meanwhile");
      return false;
    }
  }

  #renewals(leases: readonly Lease[]): Map<string, Renewal> {
    const renewals = new Map<string, Renewal>();
    for (const lease of leases) {
      const node = this.#options.holderOf(lease);
      if (node === undefined) continue;
      const { resourceVersion = "0", annotations } = lease.metadata;
      renewals.set(node, { resourceVersion, renewTime: lease.spec.renewTime, parts: annotations?.[partsAnnotation] });
    }
    return renewals;
  }

  #tell(node: string): void {
    for (const listener of this.#listeners) listener(node);
  }
}
