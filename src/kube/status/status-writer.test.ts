import { expect, test } from "vitest";
import { create, owner, pass, ready, type Report, useWriterHarness } from "../testing/writer-harness.ts";

const harness = useWriterHarness();

test("an object of ours is created with its labels, annotations and owner, then gets its status", async () => {
  harness().start().set("n1", ready("True", "fine"));
  await pass();
  expect(harness().api.take()).toEqual(["create n1", "patchStatus n1"]);
  expect(harness().api.object("n1")).toMatchObject({ metadata: { name: "n1", ...create.metadata } });
  expect(harness().status()).toEqual({
    conditions: [{ type: "Ready", status: "True", reason: "Because", message: "fine", lastTransitionTime: "2026-11-15T08:00:00Z" }],
  });
});

test("an unchanged status causes no request", async () => {
  const reports = harness().start();
  reports.set("n1", ready("True"));
  await pass();
  harness().api.take();
  for (let n = 0; n < 100; n++) {
    reports.set("n1", ready("True"));
    await pass();
  }
  expect(harness().api.take()).toEqual([]);
});

test("while the watch lags, the response to the last write counts", async () => {
  harness().api.watchLagMs = 60_000;
  const reports = harness().start();
  reports.set("n1", ready("True"));
  await pass();
  reports.set("n1", ready("True"));
  await pass();
  reports.set("n1", ready("False"));
  await pass();
  expect(harness().api.take()).toEqual(["create n1", "patchStatus n1", "patchStatus n1"]);
  await pass(120_000);
  expect(harness().api.take()).toEqual([]);
});

test("only the fields that changed are sent", async () => {
  const reports = harness().start();
  reports.set("n1", ready("True", "", { resources: [{ kind: "L3VNI", name: "red", generation: 1, state: "Applied" }], vnis: [] }));
  await pass();
  const patches: object[] = [];
  const { patchStatus, ...others } = harness().api.resource();
  const spying = { ...others, patchStatus: (...args: Parameters<typeof patchStatus>) => (patches.push(args[1]), patchStatus(...args)) };
  harness().stop.abort();
  await pass();
  const second = harness().start({ client: { resource: () => spying } });
  second.set("n1", ready("True", "", { resources: [{ kind: "L3VNI", name: "red", generation: 2, state: "Applied" }] }));
  await pass();
  expect(patches).toEqual([{ status: { resources: [{ kind: "L3VNI", name: "red", generation: 2, state: "Applied" }], vnis: null } }]);
});

test("defaults that the server fills in are no difference", async () => {
  harness().api.store = (given) => {
    const { sessions: [session] = [], ...rest } = given as { sessions?: object[] };
    return { ...rest, sessions: [{ vrf: "default", ...session }] };
  };
  const report = { status: { sessions: [{ neighbor: "10.0.0.1", state: "Established" }] }, create } as unknown as Report;
  const reports = harness().start();
  reports.set("n1", report);
  await pass();
  expect(harness().api.take()).toEqual(["create n1", "patchStatus n1"]);
  reports.set("n1", report);
  await pass(60_000);
  expect(harness().api.take()).toEqual([]);
});

const vnis = (macs: number) => ({ vnis: [{ vni: 100, type: "L2", vrf: "default", state: "Up", macs }] });

test("traffic counters are written with other changes, but cause no write", async () => {
  const reports = harness().start();
  reports.set("n1", ready("True", "", vnis(1)));
  await pass();
  harness().api.take();
  reports.set("n1", ready("True", "", vnis(2)));
  await pass();
  expect(harness().api.take()).toEqual([]);
  reports.set("n1", ready("True", "changed", vnis(3)));
  await pass();
  expect(harness().status()?.vnis?.[0]?.macs).toBe(3);
});

const times = () =>
  harness()
    .status()
    ?.conditions?.map((condition) => condition.lastTransitionTime);

test("lastTransitionTime changes only with the status of the condition", async () => {
  const reports = harness().start();
  reports.set("n1", ready("True", "one"));
  await pass(60_000);
  reports.set("n1", ready("True", "two"));
  await pass(60_000);
  expect(harness().message()).toBe("two");
  expect(times()).toEqual(["2026-11-15T08:00:00Z"]);
  reports.set("n1", ready("False", "three"));
  await pass();
  expect(times()).toEqual(["2026-11-15T08:02:00Z"]);
});

test("a stamp adds its own time, relative to the stored object", async () => {
  const reports = harness().start({
    stamp: (next, stored, now) => {
      const same = JSON.stringify(next.resources) === JSON.stringify(stored?.resources);
      return { ...next, lastUpdateTime: same && stored?.lastUpdateTime ? stored.lastUpdateTime : now };
    },
  });
  reports.set("n1", ready("True", "one"));
  await pass(60_000);
  harness().api.take();
  reports.set("n1", ready("True", "one"));
  await pass(60_000);
  expect(harness().api.take()).toEqual([]);
  reports.set("n1", ready("True", "two"));
  await pass(60_000);
  expect(harness().status()?.lastUpdateTime).toBe("2026-11-15T08:00:00Z");
  reports.set("n1", ready("True", "two", { resources: [] }));
  await pass();
  expect(harness().status()?.lastUpdateTime).toBe("2026-11-15T08:03:00Z");
});

test("a status with other writers is computed from the stored one", async () => {
  harness().api.add({ metadata: { name: "n1" }, status: { failedResources: [], conditions: [] } });
  await pass();
  const reports = harness().start();
  reports.set("n1", { status: (stored) => ({ ...stored, conditions: [{ type: "Ours", status: "True", reason: "R", message: "" }] }) });
  await pass();
  expect(harness().status()).toMatchObject({ failedResources: [], conditions: [{ type: "Ours" }] });
  harness().api.edit("n1", (object) => ({ status: { ...object.status, vnis: [] } }));
  await pass();
  expect(harness().status()).toMatchObject({ failedResources: [], vnis: [], conditions: [{ type: "Ours" }] });
});

test("a foreign change of the status is reverted", async () => {
  harness().start().set("n1", ready("True", "ours"));
  await pass();
  harness().api.edit("n1", () => ({ status: { conditions: [], failedResources: [] } }));
  await pass();
  expect(harness().message()).toBe("ours");
  expect(harness().status()).not.toHaveProperty("failedResources");
});

test("our labels, annotations and owners are restored, and foreign ones stay", async () => {
  const theirs = { apiVersion: "v1", kind: "Pod", name: "p", uid: "pod-uid" };
  harness().start().set("n1", ready("True"));
  await pass();
  harness().api.edit("n1", ({ metadata }) => ({
    metadata: {
      ...metadata,
      labels: { theirs: "yes", node: "other" },
      annotations: {},
      ownerReferences: [{ ...owner, uid: "older" }, theirs],
    },
  }));
  await pass();
  expect(harness().api.object("n1")?.metadata).toMatchObject({
    labels: { theirs: "yes", node: "n1" },
    annotations: { "plumbline.dev/node": "n1" },
    ownerReferences: [theirs, owner],
  });
  harness().api.take();
  await pass(60_000);
  expect(harness().api.take()).toEqual([]);
});

test("a deleted object of ours is created again while its status is set", async () => {
  const reports = harness().start();
  reports.set("n1", ready("True", "ours"));
  await pass();
  harness().api.remove("n1");
  await pass();
  expect(harness().message()).toBe("ours");
  reports.forget("n1");
  await pass();
  harness().api.remove("n1");
  await pass(60_000);
  expect(harness().api.object("n1")).toBeUndefined();
});

test("a missing object that is not ours is awaited without a request", async () => {
  harness()
    .start()
    .set("n1", { status: { vnis: [] } });
  await pass(600_000);
  expect(harness().api.take()).toEqual([]);
  harness().api.add({ metadata: { name: "n1" } });
  await pass();
  expect(harness().status()).toEqual({ vnis: [] });
  harness().api.remove("n1");
  await pass(600_000);
  expect(harness().api.take()).toEqual(["patchStatus n1"]);
});

test("a status is never written to a later object of the same name", async () => {
  harness().api.add({ metadata: { name: "n1" } });
  const uid = harness().api.object("n1")?.metadata.uid ?? "";
  const reports = harness().start();
  await pass();
  harness().api.cut();
  harness().api.remove("n1");
  harness().api.add({ metadata: { name: "n1" } });
  reports.set("n1", { status: ready("True").status, uid });
  await pass(5_000);
  expect(harness().api.take()).toEqual(["patchStatus n1", "get n1"]);
  expect(harness().status()).toBeUndefined();
});

test("a status with its own lastTransitionTimes is written with them", async () => {
  const lastTransitionTime = "2020-01-01T00:00:00Z";
  const conditions = [{ type: "Ready", status: "True" as const, reason: "Because", message: "", lastTransitionTime }];
  harness().api.add({ metadata: { name: "n1" } });
  const reports = harness().start({ knowsFlips: true });
  await pass();
  reports.set("n1", { status: { conditions } });
  await pass();
  expect(harness().status()?.conditions?.[0]?.lastTransitionTime).toBe(lastTransitionTime);
});
