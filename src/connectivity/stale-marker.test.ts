import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { PodNetworkConnectivityCheck } from "../api/connectivity/pod-network-connectivity-check.ts";
import { type Condition, keyOf } from "../api/kind.ts";
import type { Cache, Change } from "../kube/cache/cache.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { KubeError } from "../kube/client/error.ts";
import { createLog } from "../kube/log.ts";
import type { MissedHeartbeats } from "../kube/members/agent-watch.ts";
import { WriteBudget } from "../kube/status/budget.ts";
import { check } from "./testing/mesh.ts";
import { StaleMarker } from "./stale-marker.ts";
import { sourceIndexes } from "./source-of-check.ts";

const minute = 60_000;
const log = createLog({ level: "silent" });
const SYSTEM = "plumbline-system";
const wait = (ms: number) => vi.advanceTimersByTimeAsync(ms);

beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse("2026-11-16T09:00:00Z") });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Heartbeats of which the test decides. */
class Signs {
  readonly known = new Set<string>();
  readonly silent = new Set<string>();
  readonly off = new Set<string>();
  readonly #listeners = new Set<(name: string) => void>();

  beats(name: string): void {
    this.known.add(name);
    this.silent.delete(name);
    for (const listener of this.#listeners) listener(name);
  }

  fallsSilent(name: string): void {
    this.known.add(name);
    this.silent.add(name);
    for (const listener of this.#listeners) listener(name);
  }

  silence(name: string): MissedHeartbeats | undefined {
    return this.silent.has(name) ? { node: name, since: new Date("2026-11-16T08:59:00Z") } : undefined;
  }

  lacks(name: string): boolean {
    return this.off.has(name);
  }

  knows(name: string): boolean {
    return this.known.has(name);
  }

  subscribe(enqueue: (name: string) => void): () => void {
    this.#listeners.add(enqueue);
    return () => this.#listeners.delete(enqueue);
  }

  ready(): Promise<void> {
    return Promise.resolve();
  }
}

/** A marker at work on checks that the test writes. */
class StaleHarness {
  readonly agents = new Signs();
  readonly pods = new Signs();
  readonly #checks = new Map<string, PodNetworkConnectivityCheck>();
  readonly #listeners = new Set<(change: Change<PodNetworkConnectivityCheck>) => void>();
  readonly #connections = new Set<(state: "connected" | "lost") => void>();
  readonly #end = new AbortController();
  readonly #ended: Promise<void>;
  marks = 0;
  #version = 1;

  constructor() {
    const indexes = sourceIndexes(SYSTEM);
    const cache = {
      get: (key: string) => this.#checks.get(key),
      list: () => [...this.#checks.values()],
      by: (index: "node" | "pod", value: string) => [...this.#checks.values()].filter((one) => indexes[index](one).includes(value)),
      subscribe: (listener: (change: Change<PodNetworkConnectivityCheck>) => void) => {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      },
      onConnection: (listener: (state: "connected" | "lost") => void) => this.#connections.add(listener),
      waitForSync: () => Promise.resolve(),
    };
    const client = { resource: () => ({ patchStatus: this.#mark.bind(this) }) };
    const marker = new StaleMarker({
      client: client as unknown as KubeClient,
      log,
      budget: new WriteBudget(),
      checks: cache as unknown as Cache<PodNetworkConnectivityCheck>,
      agents: this.agents,
      pods: this.pods,
      systemNamespace: SYSTEM,
    });
    this.#ended = marker.run(this.#end.signal);
  }

  put(object: PodNetworkConnectivityCheck): void {
    const old = this.#checks.get(keyOf(object));
    this.#version += 1;
    const next = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } };
    this.#checks.set(keyOf(object), next);
    for (const listener of this.#listeners)
      listener(old ? { type: "updated", object: next, old } : { type: "added", object: next, initial: false });
  }

  connection(state: "connected" | "lost"): void {
    for (const listener of this.#connections) listener(state);
  }

  reachable(key: string): string {
    const { status, reason } = this.#checks.get(key)?.status?.conditions?.find(({ type }) => type === "Reachable") ?? {};
    return `${status} ${reason}`;
  }

  async end(): Promise<void> {
    this.#end.abort();
    await wait(minute);
    await this.#ended;
  }

  #mark(
    ref: { name: string; namespace?: string },
    patch: { status: object },
    { resourceVersion }: { resourceVersion: string },
  ): Promise<void> {
    const existing = this.#checks.get(`${ref.namespace}/${ref.name}`);
    if (!existing || existing.metadata.resourceVersion !== resourceVersion)
      return Promise.reject(new KubeError("Conflict", "it has moved on"));
    this.marks += 1;
    this.put({ ...existing, status: { ...existing.status, ...patch.status } });
    return Promise.resolve();
  }
}

async function withHarness(work: (harness: StaleHarness) => Promise<void>): Promise<void> {
  const harness = new StaleHarness();
  try {
    await wait(1);
    await work(harness);
  } finally {
    await harness.end();
  }
}

const yes: Condition = {
  type: "Reachable",
  status: "True",
  reason: "ConnectDone",
  message: "",
  lastTransitionTime: "2026-11-16T08:00:00Z",
};
/** A check that says it reaches its target, with a result of this minute after nine. */
function well(at: number): PodNetworkConnectivityCheck {
  const time = new Date(Date.parse("2026-11-16T09:00:00Z") + at * minute).toISOString();
  return check("a", { status: { successes: [{ time, success: true }], conditions: [yes] } });
}

test("a check is marked once when its source stops, and not again for an unchanged result", () =>
  withHarness(async (harness) => {
    harness.pods.beats("shop/web");
    harness.put(well(0));
    await wait(20 * minute);
    expect(harness.reachable("shop/a")).toBe("True ConnectDone");
    harness.pods.fallsSilent("shop/web");
    await wait(minute);
    expect([harness.reachable("shop/a"), harness.marks]).toEqual(["Unknown Stale", 1]);
    // The source is back, and its results are here before its heartbeat.
    harness.put(well(0));
    await wait(minute);
    harness.pods.beats("shop/web");
    await wait(20 * minute);
    expect([harness.reachable("shop/a"), harness.marks]).toEqual(["True ConnectDone", 1]);
  }));

test("a check with new results but without a heartbeat is not marked in a loop", () =>
  withHarness(async (harness) => {
    harness.pods.fallsSilent("shop/web");
    harness.put(well(0));
    await wait(minute);
    expect(harness.marks).toBe(1);
    for (let at = 0; at < 60; at += 10) {
      harness.put(well(at));
      await wait(10 * minute);
    }
    expect([harness.reachable("shop/a"), harness.marks]).toEqual(["True ConnectDone", 1]);
    await wait(4 * minute);
    expect([harness.reachable("shop/a"), harness.marks]).toEqual(["Unknown Stale", 2]);
  }));

test("a check without a Lease is marked when its results stop, and one that was never probed after three minutes", () =>
  withHarness(async (harness) => {
    harness.put(check("new"));
    for (let at = 0; at < 60; at += 7) {
      harness.put(well(at));
      await wait(7 * minute);
    }
    expect([harness.reachable("shop/a"), harness.reachable("shop/new"), harness.marks]).toEqual(["True ConnectDone", "Unknown Stale", 1]);
    await wait(7 * minute);
    expect(harness.reachable("shop/a")).toBe("Unknown Stale");
  }));

test("a broken watch marks nothing and restarts the timeout", () =>
  withHarness(async (harness) => {
    harness.put(well(0));
    await wait(10 * minute);
    harness.connection("lost");
    await wait(30 * minute);
    expect(harness.marks).toBe(0);
    harness.connection("connected");
    await wait(12 * minute);
    expect(harness.marks).toBe(0);
    await wait(2 * minute);
    expect(harness.marks).toBe(1);
  }));

test("reopening the watch, as every few minutes, changes nothing", () =>
  withHarness(async (harness) => {
    harness.put(well(0));
    for (let at = 0; at < 15; at += 1) {
      harness.connection("lost");
      await wait(1_000);
      harness.connection("connected");
      await wait(minute);
    }
    expect(harness.reachable("shop/a")).toBe("Unknown Stale");
  }));

test("a check of a node is marked at once when its agent runs without checks, and no longer when it runs them again", () =>
  withHarness(async (harness) => {
    const metadata = { ...well(0).metadata, namespace: SYSTEM, annotations: { "plumbline.dev/node": "n1" } };
    harness.put({ ...well(0), metadata });
    harness.agents.off.add("n1");
    harness.agents.beats("n1");
    await wait(minute);
    expect([harness.reachable(`${SYSTEM}/a`), harness.marks]).toEqual(["Unknown Stale", 1]);
    harness.agents.off.delete("n1");
    harness.put({ ...well(1), metadata });
    harness.agents.beats("n1");
    await wait(minute);
    expect([harness.reachable(`${SYSTEM}/a`), harness.marks]).toEqual(["True ConnectDone", 1]);
  }));

test("the source of a check of a node is its agent in Plumbline's namespace, and a pod of that name elsewhere", () =>
  withHarness(async (harness) => {
    const annotations = { "plumbline.dev/node": "n1" };
    harness.agents.beats("n1");
    harness.put({ ...well(0), metadata: { ...well(0).metadata, namespace: SYSTEM, annotations } });
    harness.put({ ...well(0), metadata: { ...well(0).metadata, annotations } });
    harness.pods.beats("shop/web");
    harness.agents.fallsSilent("n1");
    await wait(minute);
    expect([harness.reachable(`${SYSTEM}/a`), harness.reachable("shop/a")]).toEqual(["Unknown Stale", "True ConnectDone"]);
  }));
