import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { BalancedCluster, eventually, type Running } from "./fixtures/balanced-cluster.ts";

let cluster: BalancedCluster;
let controller: Running;

beforeAll(async () => {
  cluster = await BalancedCluster.start("lb-controller");
});
afterAll(() => cluster.stop());
beforeEach(() => {
  controller = cluster.controller("controller");
});
afterEach(async () => {
  await cluster.clear();
  await controller.stop();
});

/** Long enough for anything that is going to be sent. */
const quiet = () => sleep(1_500);

test("a Service gets an address in one write, with the pool that it is from, and an Event", async () => {
  await cluster.pool("small", ["192.0.2.10-192.0.2.11"]);
  await cluster.service("web");
  await cluster.hasAddresses("web", "192.0.2.10");
  expect((await cluster.readService("web")).metadata.annotations).toMatchObject({ "metallb.io/ip-allocated-from-pool": "small" });
  await eventually(async () => expect(await cluster.events("web")).toContain('IPAllocated: Assigned IP ["192.0.2.10"]'));
  const patches = (await cluster.writes("controller")).filter((write) => write.includes("services/web/status"));
  // The other one is its condition.
  expect(patches.length).toBeLessThanOrEqual(2);
});

test("what is free again goes to the one who waits for it, who was told which pools were tried", async () => {
  await cluster.pool("one", ["192.0.2.20/32"]);
  await cluster.service("first");
  await cluster.hasAddresses("first", "192.0.2.20");
  await cluster.service("second");
  await eventually(async () => expect((await cluster.events("second")).join()).toMatch(/AllocationFailed: .*one/));
  expect(await cluster.addresses("second")).toEqual([]);
  await cluster.removeService("first");
  await cluster.hasAddresses("second", "192.0.2.20");
});

test("a controller that starts anew leaves every Service its address, and first asks before it gives", async () => {
  await cluster.pool("few", ["192.0.2.30-192.0.2.32"]);
  for (const name of ["a", "b"]) await cluster.service(name);
  await cluster.hasAddresses("a", "192.0.2.30");
  await cluster.hasAddresses("b", "192.0.2.31");
  await cluster.removeService("a");
  await quiet();
  await controller.stop();
  await cluster.service("c");
  controller = cluster.controller("anew");
  await cluster.hasAddresses("c", "192.0.2.30");
  await cluster.hasAddresses("b", "192.0.2.31");
});
