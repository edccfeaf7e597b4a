import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { JsonObject } from "../api/admission/value.ts";
import type { KubeObject } from "../api/kind.ts";
import { createLog } from "../kube/log.ts";
import { applyManifest } from "./store/apply-manifest.ts";
import { internalError } from "./store/api-error.ts";
import { Garbage } from "./garbage.ts";
import { FileWriteBack } from "./directory/write-back.ts";
import { configMap, kindNamed, l3vni, newStore, withMetadata } from "./testing/fixtures.ts";
import type { Store } from "./store/store.ts";

const vnis = kindNamed("L3VNI");
const maps = kindNamed("ConfigMap");
const nodes = kindNamed("Node");
const namespaces = kindNamed("Namespace");
const events = kindNamed("Event");

let store: Store;
let full: boolean;
let stopped: AbortController;
let running: Promise<void>;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
  full = false;
  store = newStore({
    append: () => {
      if (full) throw internalError("cannot write state: no space left on device");
    },
  });
});
afterEach(async () => {
  stopped.abort();
  await running;
  vi.useRealTimers();
});

function start(): void {
  stopped = new AbortController();
  running = new Garbage(store, new FileWriteBack(store, undefined), createLog({ level: "silent" })).run(stopped.signal);
}

/** Lets it do what there is to do. */
async function idle(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await setImmediate();
}

const owner = (name: string) => store.create(maps, "default", configMap(name)).entry.object.metadata;
const refTo = ({ name, uid = "" }: { name: string; uid?: string }, more: JsonObject = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  name,
  uid,
  ...more,
});
const dependent = (name: string, ...ownerReferences: JsonObject[]) => store.create(vnis, "default", l3vni(name, {}, { ownerReferences }));
const there = (name: string) => store.find(vnis, { name, namespace: "default" })?.object;

const event = (name: string, more: JsonObject) =>
  store.create(events, "default", { apiVersion: "v1", kind: "Event", metadata: { name }, involvedObject: {}, ...more });
const eventsLeft = () =>
  store
    .collection(events)
    .list()
    .map(({ object }) => object.metadata.name);

describe("owners", () => {
  test("an object without its last owner is deleted, and so are its dependents", async () => {
    start();
    const a = owner("a");
    const middle = dependent("middle", refTo(a)).entry.object.metadata;
    const group = "openpe.openperouter.github.io/v1alpha1";
    dependent("leaf", { apiVersion: group, kind: "L3VNI", name: "middle", uid: middle.uid });
    dependent("free");
    await idle();
    store.delete(maps, { name: "a", namespace: "default" });
    await idle();
    expect(["middle", "leaf", "free"].filter((name) => there(name))).toEqual(["free"]);
  });

  test("an object with one of two owners deleted stays and loses that owner reference", async () => {
    start();
    const [a, b] = [owner("a"), owner("b")];
    dependent("both", refTo(a), refTo(b));
    store.delete(maps, { name: "a", namespace: "default" });
    await idle();
    expect(there("both")?.metadata.ownerReferences).toEqual([refTo(b)]);
  });

  test("owners of unknown kinds, and namespaced owners of cluster-scoped objects, count as existing", async () => {
    start();
    dependent("foreign", { apiVersion: "example.com/v1", kind: "Thing", name: "x", uid: "x" });
    store.create(nodes, undefined, {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "n1", ownerReferences: [refTo({ name: "x", uid: "x" })] },
    });
    await idle();
    expect([there("foreign"), store.find(nodes, { name: "n1" })]).not.toContain(undefined);
  });

  test("unfinished work is done at the next start", async () => {
    dependent("stray", refTo({ name: "none", uid: "none" }));
    store.create(namespaces, undefined, { apiVersion: "v1", kind: "Namespace", metadata: { name: "going" } });
    store.create(maps, "going", configMap("m"));
    store.delete(namespaces, { name: "going" });
    start();
    await idle();
    expect([there("stray"), store.find(namespaces, { name: "going" }), store.collection(maps).size]).toEqual([undefined, undefined, 0]);
  });

  test("an object of a file stays, whatever its owner", async () => {
    start();
    for (const [name, source] of Object.entries({
      theirs: { path: "a.yaml", line: 1 },
      ours: { path: "b.yaml", line: 1, applied: true } as const,
    })) {
      const manifest = l3vni(name, {}, { ownerReferences: [refTo({ name: "none", uid: "none" })] }) as unknown as KubeObject;
      applyManifest(store, manifest, source);
    }
    await idle();
    expect([there("theirs"), there("ours")]).not.toContain(undefined);
  });
});

test("a namespace with more objects than one batch is emptied, also when all have finalizers", async () => {
  start();
  store.create(namespaces, undefined, { apiVersion: "v1", kind: "Namespace", metadata: { name: "big" } });
  const stored = { finalizers: ["example.com/hold"] };
  for (let at = 0; at < 180; at++) store.create(maps, "big", configMap(`m${at}`, {}, stored));
  store.delete(namespaces, { name: "big" });
  await idle();
  const left = store
    .collection(maps)
    .list("big")
    .map(({ object }) => object.metadata);
  expect([left.length, left.filter(({ deletionTimestamp }) => !deletionTimestamp)]).toEqual([180, []]);
  for (const metadata of left) store.update(maps, metadata, withMetadata({ finalizers: [] }));
  await idle();
  expect([store.collection(maps).size, store.find(namespaces, { name: "big" })]).toEqual([0, undefined]);
});

test("Events are deleted an hour after their last occurrence", async () => {
  start();
  event("old", {});
  event("repeated", { lastTimestamp: new Date(Date.now() + 1_800_000).toISOString() });
  await vi.advanceTimersByTimeAsync(3_500_000);
  await idle();
  expect(eventsLeft()).toEqual(["old", "repeated"]);
  await vi.advanceTimersByTimeAsync(200_000);
  await idle();
  expect(eventsLeft()).toEqual(["repeated"]);
  await vi.advanceTimersByTimeAsync(1_800_000);
  await idle();
  expect(eventsLeft()).toEqual([]);
});

test("failed writes are retried with backoff, and nothing is lost", async () => {
  start();
  const a = owner("a");
  dependent("red", refTo(a));
  await idle();
  store.delete(maps, { name: "a", namespace: "default" });
  full = true;
  await idle();
  expect(there("red")).toBeDefined();
  await vi.advanceTimersByTimeAsync(20_000);
  expect(there("red")).toBeDefined();
  full = false;
  await vi.advanceTimersByTimeAsync(30_000);
  await idle();
  expect(there("red")).toBeUndefined();
});
