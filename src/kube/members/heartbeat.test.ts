import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Lease } from "../../api/core/lease.ts";
import { KubeError } from "../client/error.ts";
import { MemoryLeases } from "../testing/memory-leases.ts";
import { createLog } from "../log.ts";
import { signingKeyOf } from "./agent-lease.ts";
import { heartbeat, reportWaiting } from "./heartbeat.ts";

const log = createLog({ level: "silent" });
let server: MemoryLeases;
let stopping: AbortController;
let running: Promise<void>;

beforeEach(() => {
  vi.useFakeTimers({ now: Date.UTC(2026, 10, 15, 10, 30) });
  server = new MemoryLeases();
  stopping = new AbortController();
  running = Promise.resolve();
});

afterEach(async () => {
  stopping.abort();
  await running;
  vi.useRealTimers();
});

function start(node = "worker-1", nodeUid: () => string | undefined = () => undefined, more: { signingKey?: string } = {}): void {
  running = heartbeat({ client: server.client(), namespace: "plumbline-system", node, nodeUid, log, ...more }).run(stopping.signal);
}

const seconds = (count: number) => vi.advanceTimersByTimeAsync(count * 1_000);
const lease = () => server.stored.get("agent-worker-1");

test("an agent has a Lease that names its node, and renews it about every ten seconds", async () => {
  start();
  await seconds(0);
  expect(lease()).toMatchObject({
    metadata: {
      namespace: "plumbline-system",
      labels: { "plumbline.dev/component": "agent", "plumbline.dev/node": "worker-1" },
      annotations: { "plumbline.dev/node": "worker-1" },
    },
    spec: { holderIdentity: "worker-1", leaseDurationSeconds: 30, renewTime: "2026-11-15T10:30:00.000000Z" },
  });
  expect(lease()?.metadata.ownerReferences).toBeUndefined();
  await seconds(100);
  expect(server.writes.length).toBeGreaterThanOrEqual(11);
  expect(server.writes.length).toBeLessThanOrEqual(13);
});

test("the Lease lists the running parts, also an empty list, and none if they are not given", async () => {
  start();
  await seconds(0);
  expect(lease()?.metadata.annotations).not.toHaveProperty("plumbline.dev/parts");
  for (const parts of [["router", "connectivity"], []] as const) {
    stopping.abort();
    await running;
    stopping = new AbortController();
    const agent = { client: server.client(), namespace: "plumbline-system", node: "worker-1", nodeUid: () => undefined, log, parts };
    running = heartbeat(agent).run(stopping.signal);
    await seconds(0);
    expect(lease()?.metadata.annotations?.["plumbline.dev/parts"]).toBe(parts.join(","));
  }
});

test("the Lease has the Node as its owner once its uid is known, and the new Node when the uid changes", async () => {
  let uid: string | undefined;
  start("worker-1", () => uid);
  await seconds(1);
  uid = "one";
  await seconds(10);
  expect(lease()?.metadata.ownerReferences).toEqual([{ apiVersion: "v1", kind: "Node", name: "worker-1", uid: "one" }]);
  uid = "two";
  await seconds(10);
  expect(lease()?.metadata.ownerReferences).toEqual([{ apiVersion: "v1", kind: "Node", name: "worker-1", uid: "two" }]);
});

test("a node name that is too long for a label is complete in the annotation", async () => {
  const node = `worker-${"1".repeat(70)}`;
  start(node);
  await seconds(0);
  const written = server.stored.get(`agent-${node}`);
  expect(written?.metadata.annotations).toEqual({ "plumbline.dev/node": node });
  expect(written?.metadata.labels?.["plumbline.dev/node"]).toHaveLength(63);
});

test("each renewal of the Lease has the key of the agent", async () => {
  const signingKey = `${"A".repeat(43)}=`;
  start("worker-1", () => undefined, { signingKey });
  for (let renewal = 0; renewal < 3; renewal++) {
    await seconds(10);
    expect(signingKeyOf(lease() as Lease)).toBe(signingKey);
  }
});

test("heartbeats go on during an API server outage, with backoff", async () => {
  start();
  await seconds(15);
  let attempts = 0;
  server.before = () => {
    attempts += 1;
    throw new KubeError("Unreachable", "connection refused");
  };
  await seconds(600);
  expect(attempts).toBeGreaterThan(50);
  expect(attempts).toBeLessThan(150);
  server.before = () => {};
  const before = server.writes.length;
  await seconds(20);
  expect(server.writes.length).toBeGreaterThan(before);
});

test("a request that hangs is aborted in time for the next one", async () => {
  start();
  await seconds(1);
  server.before = () => new Promise(() => {});
  await seconds(20);
  server.before = () => {};
  const before = server.writes.length;
  await seconds(15);
  expect(server.writes.length).toBeGreaterThan(before);
});

test("a Lease that was edited or deleted is renewed at the next heartbeat, and foreign labels stay", async () => {
  start();
  await seconds(1);
  const stored = lease();
  if (stored) server.put({ ...stored, metadata: { ...stored.metadata, labels: { ...stored.metadata.labels, note: "kept" } } });
  await seconds(12);
  expect(lease()?.metadata.labels).toMatchObject({ note: "kept", "plumbline.dev/component": "agent" });
  expect(lease()?.spec.renewTime).not.toBe(stored?.spec.renewTime);
  server.stored.delete("agent-worker-1");
  // The renewal that finds it missing fails, and the next attempt follows after a backoff.
  await seconds(12);
  expect(lease()?.spec.holderIdentity).toBe("worker-1");
});

test("stopping does not release the Lease", async () => {
  start();
  await seconds(1);
  stopping.abort();
  await running;
  await seconds(60);
  expect(server.writes).toHaveLength(1);
  expect(lease()?.spec).toMatchObject({ holderIdentity: "worker-1", leaseDurationSeconds: 30 });
});

test("a waiting agent writes what it waits for into its Lease without renewing it, and removes it when it renews", async () => {
  start();
  await seconds(1);
  stopping.abort();
  await running;
  const { spec } = lease() ?? {};
  server.writes.length = 0;

  stopping = new AbortController();
  let unread = ["underlays", "l2vnis"];
  const options = { client: server.client(), namespace: "plumbline-system", node: "worker-1", unread: () => unread, log };
  running = reportWaiting(options, stopping.signal);
  await seconds(4);
  expect(server.writes).toHaveLength(0);
  await seconds(30);
  expect(lease()).toMatchObject({
    metadata: { annotations: { "plumbline.dev/waits-for": "underlays, l2vnis", "plumbline.dev/waits-since": "2026-11-15T10:30:01Z" } },
    spec: spec ?? {},
  });
  unread = ["l2vnis"];
  await seconds(10);
  expect(lease()?.metadata.annotations).toMatchObject({ "plumbline.dev/waits-for": "l2vnis" });
  expect(server.writes).toHaveLength(2);
  stopping.abort();
  await running;

  stopping = new AbortController();
  start();
  await seconds(1);
  expect(lease()?.metadata.annotations).toEqual({ "plumbline.dev/node": "worker-1" });
});

test("an agent that waits on a new node leaves a Lease that was never renewed", async () => {
  const options = { client: server.client(), namespace: "plumbline-system", node: "worker-1", unread: () => ["nodes"], log };
  running = reportWaiting(options, stopping.signal);
  await seconds(10);
  expect(lease()).toMatchObject({
    metadata: { annotations: { "plumbline.dev/waits-for": "nodes" } },
    spec: { holderIdentity: "worker-1" },
  });
  expect(lease()?.spec.renewTime).toBeUndefined();
});
