import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ConfigMap } from "../api/core/config-map.ts";
import type { Node } from "../api/core/node.ts";
import type { Change } from "../kube/cache/cache.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { KubeError } from "../kube/client/error.ts";
import { createLog } from "../kube/log.ts";
import { printMembers } from "../kube/members/members.ts";
import { nodeIndexOf, nodeIndexWriter } from "./node-index.ts";

const annotation = "openpe.io/nodeindex";
const node = (name: string, index?: string): Node => ({
  metadata: { name, resourceVersion: "5", ...(index === undefined ? {} : { annotations: { [annotation]: index } }) },
  spec: {},
});

test.each([
  ["0", 0],
  ["12", 12],
  ["", undefined],
  ["-1", undefined],
  ["1.5", undefined],
  ["007", undefined],
  ["1e3", undefined],
  ["seven", undefined],
  ["12345678901234567890", undefined],
])("the index of a Node with annotation %j is %s", (text, index) => {
  expect(nodeIndexOf(node("a", text))).toBe(index);
});

test("a Node without the annotation has no index", () => {
  expect(nodeIndexOf(node("a"))).toBeUndefined();
});

const synced = () => Promise.resolve();

/** Some Nodes and the published indexes, as the writer's caches show them. */
class Cluster {
  readonly written: string[] = [];
  patchError: KubeError | undefined;
  nodes = new Map<string, Node>();
  published: ConfigMap | undefined;
  #nodes: (change: Change<Node>) => void = () => {};
  #members: (change: Change<ConfigMap>) => void = () => {};

  writer() {
    const patch = ({ name }: { name: string }, { metadata }: { metadata: { annotations: Record<string, string> } }, options: object) => {
      this.written.push(`${name} ${metadata.annotations[annotation]} ${JSON.stringify("resourceVersion" in options)}`);
      const { patchError } = this;
      this.patchError = undefined;
      return patchError ? Promise.reject(patchError) : Promise.resolve({});
    };
    return nodeIndexWriter({
      client: { resource: () => ({ patch }) } as unknown as KubeClient,
      namespace: "system",
      nodes: {
        get: (key) => this.nodes.get(key),
        list: () => [...this.nodes.values()],
        subscribe: (listener) => {
          this.#nodes = listener;
          return () => {};
        },
        waitForSync: synced,
      },
      members: {
        get: (key) => (key === "system/plumbline-members" ? this.published : undefined),
        list: () => (this.published ? [this.published] : []),
        subscribe: (listener) => {
          this.#members = listener;
          return () => {};
        },
        waitForSync: synced,
      },
      log: createLog({ level: "silent" }),
    });
  }

  publish(indexes: Record<string, number>): void {
    const entries = Object.entries(indexes).map(([name, index]) => [name, { index }]);
    const data = printMembers({ live: [], keys: {}, freed: [], indexes: Object.fromEntries(entries) as Record<string, { index: number }> });
    this.published = { metadata: { name: "plumbline-members", namespace: "system" }, data };
    this.#members({ type: "added", object: this.published, initial: false });
  }

  has(object: Node): void {
    this.nodes.set(object.metadata.name, object);
    this.#nodes({ type: "added", object, initial: false });
  }
}

let cluster: Cluster;
let stopping: AbortController;
let running: Promise<void>;
const passes = () => vi.advanceTimersByTimeAsync(1_000);

beforeEach(async () => {
  vi.useFakeTimers();
  cluster = new Cluster();
  stopping = new AbortController();
  running = cluster.writer().run(stopping.signal);
  await passes();
});
afterEach(async () => {
  stopping.abort();
  await running;
  vi.useRealTimers();
});

test("a Node gets its published index, in any order of events, with the observed resourceVersion", async () => {
  cluster.has(node("a"));
  await passes();
  expect(cluster.written).toEqual([]);
  cluster.publish({ a: 3, b: 4 });
  await passes();
  cluster.has(node("b"));
  await passes();
  expect(cluster.written).toEqual(["a 3 true", "b 4 true"]);
});

test("a wrong or missing index is corrected, and a right one is not written", async () => {
  cluster.publish({ a: 0, b: 1, c: 2 });
  for (const each of [node("a", "0"), node("b", "0"), node("c", "two")]) cluster.has(each);
  await passes();
  expect(cluster.written).toEqual(["b 1 true", "c 2 true"]);
});

test("a Conflict is retried after the cache has the newer Node, and not before", async () => {
  cluster.publish({ a: 3 });
  cluster.patchError = new KubeError("Conflict", "it has moved on", { method: "PATCH", path: "/api/v1/nodes/a" });
  cluster.has(node("a"));
  await passes();
  expect(cluster.written).toEqual(["a 3 true"]);
  cluster.has(node("a"));
  await passes();
  expect(cluster.written).toEqual(["a 3 true", "a 3 true"]);
});
