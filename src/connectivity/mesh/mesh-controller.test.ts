import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ConnectivityMesh } from "../../api/connectivity/connectivity-mesh.ts";
import type { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import type { Node } from "../../api/core/node.ts";
import { keyOf, type KubeObject } from "../../api/kind.ts";
import type { Cache, Change } from "../../kube/cache/cache.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { KubeError } from "../../kube/client/error.ts";
import type { WatchEvent } from "../../kube/client/watch-stream.ts";
import { createLog } from "../../kube/log.ts";
import { checkpointAnnotation, meshAnnotation, retiredAnnotation } from "../../api/annotations.ts";
import { MeshController } from "./mesh-controller.ts";
import type { MeshReport } from "./report.ts";
import { check, mesh, node, SYSTEM } from "../testing/mesh.ts";

const wait = (ms: number) => vi.advanceTimersByTimeAsync(ms);

beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse("2026-11-16T09:00:00Z") });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A cache of which the test decides what it holds. */
class FakeCache<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #listeners = new Set<(change: Change<T>) => void>();

  put(object: T): void {
    const old = this.#objects.get(keyOf(object));
    this.#objects.set(keyOf(object), object);
    this.#tell(old ? { type: "updated", object, old } : { type: "added", object, initial: false });
  }

  remove(key: string): void {
    const object = this.#objects.get(key);
    this.#objects.delete(key);
    if (object) this.#tell({ type: "deleted", object });
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  list(): T[] {
    return [...this.#objects.values()];
  }

  by(_index: string, namespace: string): T[] {
    return this.list().filter(({ metadata }) => metadata.namespace === namespace);
  }

  subscribe(listener: (change: Change<T>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  waitForSync(): Promise<void> {
    return Promise.resolve();
  }

  #tell(change: Change<T>): void {
    for (const listener of this.#listeners) listener(change);
  }
}

/** A controller at work. What it writes is there at once. */
class MeshHarness {
  readonly meshes = new FakeCache<ConnectivityMesh>();
  readonly checks = new FakeCache<PodNetworkConnectivityCheck>();
  readonly nodes = new FakeCache<Node>();
  readonly reports = new Map<string, MeshReport>();
  /** The reasons that meshes were given, one after another. */
  readonly reasons: (string | undefined)[] = [];
  readonly controller: MeshController;
  readonly #end = new AbortController();
  readonly #ended: Promise<void>;
  writes = 0;
  /** What the server says instead of making a check of a host that this matches. */
  rejection: KubeError | undefined;
  rejectedTargets = /./;
  /** Namespaces in which nothing may be read; the others hold nothing. */
  readonly closed = new Set<string>();

  constructor() {
    const resource = () => ({ create: this.#create.bind(this), patch: this.#patch.bind(this), watch: this.#watch.bind(this) });
    this.controller = new MeshController({
      client: { resource } as unknown as KubeClient,
      log: createLog({ level: "silent" }),
      systemNamespace: SYSTEM,
      meshes: this.meshes as unknown as Cache<ConnectivityMesh>,
      checks: this.checks as unknown as Cache<PodNetworkConnectivityCheck>,
      nodes: this.nodes as unknown as Cache<Node>,
      writer: { set: (key, { status }) => this.#report(key, status as MeshReport), forget: (key) => this.reports.delete(key) },
    });
    this.#ended = this.controller.run(this.#end.signal);
  }

  /** A mesh of these nodes to so many hosts. */
  ask(hosts: number, name = "all"): void {
    const targets = Array.from({ length: hosts }, (_, at) => ({ host: `host-${at}.test:80` }));
    this.meshes.put(mesh(name, { sources: { nodes: {} }, targets }, SYSTEM));
  }

  /** How many checks there are with each time between refreshes; given up ones aside. */
  steps(): Record<string, number> {
    const wanted = this.checks.list().filter(({ metadata }) => metadata.annotations?.[retiredAnnotation] === undefined);
    const groups = Map.groupBy(wanted, ({ metadata }) => metadata.annotations?.[checkpointAnnotation] ?? "none");
    return Object.fromEntries(groups.entries().map(([seconds, all]) => [seconds, all.length]));
  }

  statusOf(name = "all"): string {
    const { sources, targets, checks, conditions } = this.reports.get(`${SYSTEM}/${name}`) ?? { conditions: [] };
    return `${sources} ${targets} ${checks} ${conditions[0]?.reason}: ${conditions[0]?.message}`;
  }

  async end(): Promise<void> {
    this.#end.abort();
    await wait(60_000);
    await this.#ended;
  }

  async *#watch({ namespace = "", signal }: { namespace?: string; signal: AbortSignal }): AsyncIterable<WatchEvent<KubeObject>> {
    if (this.closed.has(namespace)) throw new KubeError("Unreachable", "connection refused");
    yield { type: "BOOKMARK", resourceVersion: "1", initialEventsEnd: true };
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  }

  #report(key: string, report: MeshReport): void {
    this.reports.set(key, report);
    this.reasons.push(report.conditions[0]?.reason);
  }

  #create({ metadata, spec }: PodNetworkConnectivityCheck): Promise<void> {
    this.writes += 1;
    if (this.rejection && this.rejectedTargets.test(spec.targetEndpoint)) return Promise.reject(this.rejection);
    if (this.checks.get(keyOf({ metadata }))) return Promise.reject(new KubeError("AlreadyExists", "there is one"));
    this.checks.put(check(metadata.name, { metadata, spec }));
    return Promise.resolve();
  }

  #patch(
    { name, namespace }: { name: string; namespace: string },
    patch: { metadata?: { annotations?: Record<string, string> } },
  ): Promise<void> {
    this.writes += 1;
    const existing = this.checks.get(`${namespace}/${name}`);
    if (!existing) return Promise.reject(new KubeError("NotFound", "there is none"));
    const annotations = { ...existing.metadata.annotations, ...patch.metadata?.annotations };
    this.checks.put({ ...existing, metadata: { ...existing.metadata, annotations } });
    return Promise.resolve();
  }
}

async function withHarness(work: (harness: MeshHarness) => Promise<void>): Promise<void> {
  const harness = new MeshHarness();
  for (let at = 0; at < 20; at += 1) harness.nodes.put(node(`n${at}`, `192.0.2.${at}`));
  try {
    await wait(1);
    await work(harness);
  } finally {
    await harness.end();
  }
}

test("twenty checks are created per second, the mesh reports the rest, and at rest nothing is written", () =>
  withHarness(async (harness) => {
    harness.ask(14);
    await wait(5_000);
    expect(harness.checks.list().length).toBeGreaterThan(60);
    expect(harness.checks.list().length).toBeLessThanOrEqual(20 + 5 * 20);
    expect(harness.statusOf()).toBe("20 14 0 Creating: 280 checks not created yet");
    await wait(6_000);
    expect(harness.statusOf()).toBe("20 14 200 Creating: 80 checks not created yet");
    await wait(20_000);
    expect(harness.statusOf()).toBe("20 14 280 Complete: All checks exist");
    expect(harness.writes).toBe(280);
    await wait(600_000);
    expect(harness.writes).toBe(280);
  }));

test("the refresh interval grows with the number of checks, and shrinks for all when they become fewer", () =>
  withHarness(async (harness) => {
    harness.ask(20);
    await wait(40_000);
    expect(harness.steps()).toEqual({ "120": 400 });
    expect(harness.writes).toBe(400);
    harness.ask(13, "second");
    await wait(10_000);
    // The same checks, of which there is one each.
    expect([harness.steps(), harness.writes]).toEqual([{ "120": 400 }, 400]);
    harness.meshes.remove(`${SYSTEM}/second`);
    harness.ask(5);
    await wait(60_000);
    expect(harness.steps()).toEqual({ "60": 100 });
    expect(harness.writes).toBe(400 + 300 + 100);
    expect([...harness.reports.keys()]).toEqual([`${SYSTEM}/all`]);
  }));

test("results and Node status updates do not trigger a plan", () =>
  withHarness(async (harness) => {
    harness.ask(2);
    await wait(10_000);
    const planned = vi.spyOn(harness.meshes, "list");
    for (const one of harness.checks.list())
      harness.checks.put({ ...one, status: { successes: [{ time: "2026-11-16T09:00:00Z", success: true }] } });
    harness.nodes.put({ ...node("n1", "192.0.2.1"), spec: { unschedulable: true } });
    await wait(10_000);
    expect(planned).not.toHaveBeenCalled();
    harness.nodes.put(node("n1", "192.0.2.99"));
    await wait(10_000);
    expect(planned).toHaveBeenCalled();
  }));

test("a rejected check is reported in the mesh and retried with a backoff", () =>
  withHarness(async (harness) => {
    harness.rejection = new KubeError("Forbidden", "the namespace is full");
    harness.ask(1);
    await wait(10_000);
    expect(harness.statusOf()).toBe(`20 1 0 Refused: ${Array.from({ length: 5 }, () => "the namespace is full").join("; ")}; and 15 more`);
    expect(harness.writes).toBe(20);
    harness.reasons.length = 0;
    await wait(65_000);
    expect(harness.writes).toBe(40);
    // It does not seem to get on while it is tried again.
    expect(new Set(harness.reasons)).toEqual(new Set(["Refused"]));
    harness.rejection = undefined;
    await wait(120_000);
    expect(harness.statusOf()).toBe("20 1 20 Complete: All checks exist");
  }));

test("an unrelated change does not retry a rejected check early, and it stays in the mesh", () =>
  withHarness(async (harness) => {
    harness.rejection = new KubeError("Forbidden", "the namespace is full");
    harness.ask(1);
    await wait(5_000);
    expect(harness.writes).toBe(20);
    for (let at = 0; at < 10; at += 1) {
      harness.checks.put(check(`theirs-${at}`, { metadata: { namespace: SYSTEM } }));
      await wait(2_000);
    }
    expect(harness.writes).toBe(20);
    expect(harness.statusOf()).toMatch(/^20 1 0 Refused: the namespace is full; .*; and 15 more$/);
  }));

test("many rejected checks do not delay the others", () =>
  withHarness(async (harness) => {
    harness.rejection = new KubeError("Forbidden", "not this host");
    harness.rejectedTargets = /^host-\d\.test/;
    harness.ask(15);
    await wait(25_000);
    expect(harness.checks.list()).toHaveLength(5 * 20);
    expect(harness.statusOf()).toMatch(/ Refused: .*; and 195 more$/);
  }));

test("an unreachable server is no rejection, and the checks are created when it is back", () =>
  withHarness(async (harness) => {
    harness.rejection = new KubeError("Unreachable", "connection refused");
    harness.ask(1);
    await wait(10_000);
    expect(harness.statusOf()).toBe("20 1 0 Creating: 20 checks not created yet");
    harness.rejection = undefined;
    await wait(300_000);
    expect(harness.statusOf()).toBe("20 1 20 Complete: All checks exist");
  }));

test("a namespace that cannot be read blocks only the meshes that name it, until it can be read", () =>
  withHarness(async (harness) => {
    harness.closed.add("far");
    const targets = [{ host: "far.test:80" }, { service: { name: "web", namespace: "far" } }];
    harness.meshes.put(mesh("far", { sources: { nodes: {} }, targets }, SYSTEM));
    harness.checks.put(
      check("old", { metadata: { namespace: SYSTEM, labels: { [meshAnnotation]: "far" }, annotations: { [meshAnnotation]: "far" } } }),
    );
    harness.ask(1);
    await wait(10_000);
    expect(harness.statusOf()).toBe("20 1 20 Complete: All checks exist");
    expect(harness.statusOf("far")).toBe("0 0 0 Unreadable: Cannot read namespace far; the checks stay unchanged");
    expect(harness.reports.get(`${SYSTEM}/far`)?.conditions).toMatchObject([{ type: "Ready", status: "Unknown" }]);
    const old = harness.checks.get(`${SYSTEM}/old`);
    expect([old?.metadata.annotations?.[retiredAnnotation], old && harness.controller.wants(old)]).toEqual([undefined, true]);
    harness.closed.clear();
    await wait(120_000);
    expect(harness.statusOf("far")).toMatch(/^20 1 20 Incomplete: spec.targets\[1\]: /);
  }));

test("changes within a second are planned together", () =>
  withHarness(async (harness) => {
    harness.ask(1);
    await wait(10_000);
    const planned = vi.spyOn(harness.meshes, "get");
    for (let at = 0; at < 15; at += 1) {
      harness.nodes.put(node(`late-${at}`, `198.51.100.${at}`));
      await wait(50);
    }
    await wait(10_000);
    expect(harness.statusOf()).toBe("35 1 35 Complete: All checks exist");
    // Each plan is told of before and after its steps.
    expect(planned.mock.calls.length).toBeLessThanOrEqual(2 * 4);
  }));

test("before a namespace is planned every check of a mesh counts as wanted", () =>
  withHarness(async (harness) => {
    const [made, own] = [{ labels: { "plumbline.dev/mesh": "all" }, annotations: { "plumbline.dev/mesh": "all" } }, {}];
    const [theirs, mine] = [
      check("old", { metadata: { ...made, namespace: SYSTEM } }),
      check("mine", { metadata: { ...own, namespace: SYSTEM } }),
    ];
    expect([theirs, mine].map((one) => harness.controller.wants(one))).toEqual([true, false]);
    harness.ask(1);
    await wait(10_000);
    expect([theirs, mine, ...harness.checks.list()].filter((one) => harness.controller.wants(one))).toEqual(harness.checks.list());
  }));

test("a namespace without meshes and checks leaves no state", () =>
  withHarness(async (harness) => {
    harness.ask(1);
    await wait(10_000);
    const [last] = harness.checks.list();
    harness.meshes.remove(`${SYSTEM}/all`);
    await wait(10_000);
    expect(last && harness.controller.wants(last)).toBe(false);
    for (const one of harness.checks.list()) harness.checks.remove(keyOf(one));
    await wait(10_000);
    expect(last && harness.controller.wants(last)).toBe(true);
  }));
