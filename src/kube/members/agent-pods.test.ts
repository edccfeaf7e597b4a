import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { DaemonSet } from "../../api/core/daemon-set.ts";
import type { Pod } from "../../api/core/pod.ts";
import type { Cache, Change } from "../cache/cache.ts";
import type { KubeClient } from "../client/client.ts";
import { AgentPods, isRolledOut } from "./agent-pods.ts";

const numbers = { currentNumberScheduled: 3, desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberReady: 3, numberMisscheduled: 0 };
const daemonSet = (status: Partial<NonNullable<DaemonSet["status"]>> = {}): DaemonSet => ({
  metadata: { name: "agent", namespace: "plumbline-system", generation: 4 },
  spec: { selector: {}, template: {} },
  status: { observedGeneration: 4, ...numbers, ...status },
});
/** As the DaemonSet's controller makes it, before the scheduler has bound it. */
const pending = (node: string): Pod => {
  const required = { nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: [node] }] }] };
  const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } };
  return { ...pod(node), spec: { affinity, containers: [] } };
};
const pod = (node: string, owner = "agent"): Pod => ({
  metadata: { name: `agent-${node}`, ownerReferences: [{ apiVersion: "apps/v1", kind: "DaemonSet", name: owner, uid: "1" }] },
  spec: { nodeName: node, containers: [] },
});

test.each([
  ["all Pods are current and ready", daemonSet(), true],
  [
    "no node is selected",
    daemonSet({ ...numbers, currentNumberScheduled: 0, desiredNumberScheduled: 0, updatedNumberScheduled: 0, numberReady: 0 }),
    true,
  ],
  ["the controller has not observed the newest generation", daemonSet({ observedGeneration: 3 }), false],
  ["a Pod is not ready", daemonSet({ numberReady: 2 }), true],
  ["a Pod is outdated", daemonSet({ updatedNumberScheduled: 2 }), false],
  ["a Pod is missing", daemonSet({ currentNumberScheduled: 2 }), false],
  ["it is being deleted", { ...daemonSet(), metadata: { ...daemonSet().metadata, deletionTimestamp: "2026-11-15T10:30:00Z" } }, false],
  ["it does not exist", undefined, false],
])("a DaemonSet of which %s: rolled out is %s", (_what, daemonSet, rolledOut) => {
  expect(isRolledOut(daemonSet)).toBe(rolledOut);
});

/** The parts of a cache that are looked at, with a hand to change them. */
class Shelf<T extends DaemonSet | Pod> {
  objects: T[] = [];
  tell: (change: Change<T>) => void = () => {};
  connection: (state: "connected" | "lost") => void = () => {};
  readonly cache = {
    get: () => this.objects[0],
    list: () => this.objects,
    subscribe: (listener: (change: Change<T>) => void) => {
      this.tell = listener;
    },
    onConnection: (listener: (state: "connected" | "lost") => void) => {
      this.connection = listener;
    },
  } as unknown as Cache<T>;
}

let daemonSets: Shelf<DaemonSet>;
let pods: Shelf<Pod>;
let agents: AgentPods;

beforeEach(() => {
  vi.useFakeTimers();
  daemonSets = new Shelf();
  pods = new Shelf();
  daemonSets.objects = [daemonSet()];
  const client = {} as unknown as KubeClient;
  agents = new AgentPods({ client, namespace: "plumbline-system", name: "agent", daemonSets: daemonSets.cache, pods: pods.cache });
});

afterEach(() => {
  vi.useRealTimers();
});

test("absence counts from the deletion of the last Pod, and not while one exists", () => {
  pods.objects = [pod("a")];
  vi.advanceTimersByTime(10_000);
  expect(agents.absenceMs("a")).toBeUndefined();
  pods.objects = [];
  pods.tell({ type: "deleted", object: pod("a") });
  vi.advanceTimersByTime(5_000);
  expect(agents.absenceMs("a")).toBe(5_000);
  expect(agents.absenceMs("b")).toBe(15_000);
});

test("a Pod that came and went between two observations restarts the absence", () => {
  vi.advanceTimersByTime(10_000);
  pods.tell({ type: "added", object: pod("a"), initial: false });
  pods.tell({ type: "deleted", object: pod("a") });
  expect(agents.absenceMs("a")).toBe(0);
});

test("a Pod that waits to be bound to the node counts as present, in the cache and on the server", async () => {
  vi.advanceTimersByTime(10_000);
  pods.objects = [pending("a")];
  expect([agents.absenceMs("a"), agents.absenceMs("b")]).toEqual([undefined, 10_000]);
  const list = ({ fieldSelector }: { fieldSelector: string }) =>
    Promise.resolve({ items: fieldSelector === "spec.nodeName=" ? [pending("a")] : [] });
  const client = { resource: () => ({ get: () => Promise.resolve(daemonSet()), list }) } as unknown as KubeClient;
  const asking = new AgentPods({ ...agents.options, client });
  const { signal } = new AbortController();
  expect([await asking.isAbsent("a", signal), await asking.isAbsent("b", signal)]).toEqual([false, true]);
});

test("Pods of others do not count", () => {
  vi.advanceTimersByTime(10_000);
  pods.objects = [pod("a", "other")];
  pods.tell({ type: "added", object: pod("a", "other"), initial: false });
  expect(agents.absenceMs("a")).toBe(10_000);
});

test("no Pod counts as absent while the DaemonSet is not rolled out", () => {
  vi.advanceTimersByTime(10_000);
  daemonSets.objects = [daemonSet({ currentNumberScheduled: 2 })];
  expect(agents.absenceMs("a")).toBeUndefined();
});

test("a lost watch of Pods or of the DaemonSet, and a new term, restart the absence", () => {
  for (const startOver of [() => pods.connection("lost"), () => daemonSets.connection("connected"), () => agents.begin()]) {
    vi.advanceTimersByTime(10_000);
    startOver();
    vi.advanceTimersByTime(1_000);
    expect(agents.absenceMs("a")).toBe(1_000);
  }
});
