import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { silent } from "../../lab/progress.ts";
import { ReplicatedStorage } from "../../lab/sites/replicated-storage.ts";
import type { ReplicationCall } from "../../lab/sites/storage-control.ts";

const PATIENCE = { timeout: 30_000, interval: 20 };
let storage: ReplicatedStorage;

beforeAll(async () => {
  storage = await ReplicatedStorage.start({ progress: silent, sites: ["east", "west"], transferMs: 0, intervalMs: 3_600_000 });
});
afterAll(() => storage.stop());

/** A volume of its own, with the calls that csi-addons makes for it. */
function volumeOf(volume: string) {
  const call = (rpc: ReplicationCall) => (site: string, force?: boolean) =>
    storage.call({ site, volume, rpc, ...(force !== undefined && { force }) });
  return {
    name: volume,
    promote: call("PromoteVolume"),
    demote: call("DemoteVolume"),
    resync: call("ResyncVolume"),
    info: call("GetVolumeReplicationInfo"),
    write: (site: string) => storage.write(site, volume),
    state: () => storage.volume(volume),
    damage: async () => (await storage.damage()).filter((one) => one.volume === volume),
  };
}

const REJECTED = { code: "FailedPrecondition" };

test("both sides are ready only when none is primary and the last writes have arrived, and nothing is lost then", async () => {
  const one = volumeOf("shop/planned");
  await one.promote("east");
  expect([await one.write("east"), await one.write("west")]).toEqual([1, undefined]);
  expect(await one.resync("west")).toEqual({ ready: false });
  expect(await one.info("west")).toMatchObject({ code: "InvalidArgument" });

  await storage.setLink("cut", one.name);
  await one.demote("east");
  expect([await one.resync("east"), await one.resync("west")]).toEqual([{ ready: false }, { ready: false }]);
  expect(await one.promote("west")).toMatchObject(REJECTED);
  await storage.setLink("up", one.name);
  await vi.waitFor(async () => expect(await one.resync("east")).toEqual({ ready: true }), PATIENCE);
  await one.promote("west");
  expect(await storage.primaries(one.name)).toEqual(["west"]);
  expect(await storage.holds("west", one.name, 1)).toBe(true);
  expect(await one.damage()).toEqual([]);
});

test("a forced promotion before the last writes have arrived loses them, and the side that has them follows only after a forced resync", async () => {
  const one = volumeOf("shop/early");
  await storage.setLink("cut", one.name);
  await one.promote("east");
  await one.write("east");
  await one.demote("east");
  await one.promote("west", true);
  expect(await one.damage()).toEqual([{ kind: "TailLost", site: "west", volume: one.name, detail: "has version 0, 2 was acknowledged" }]);
  expect(await storage.holds("west", one.name, 1)).toBe(false);
  await storage.setLink("up", one.name);
  expect(await one.resync("east")).toMatchObject(REJECTED);
  expect(await one.resync("east", true)).toEqual({ ready: false });
  await one.demote("west");
  await vi.waitFor(async () => expect(await one.resync("east")).toEqual({ ready: true }), PATIENCE);
  expect((await one.state()).versions).toEqual({ east: 3, west: 3 });
});

test("a promotion while the other side is primary is a split brain, and is refused without force", async () => {
  const one = volumeOf("shop/both");
  await one.promote("east");
  expect(await one.promote("west")).toMatchObject(REJECTED);
  await one.promote("west", true);
  expect(await one.state()).toMatchObject({ primaries: ["east", "west"], diverged: ["east"] });
  expect(await one.damage()).toEqual([{ kind: "SplitBrain", site: "west", volume: one.name, detail: "east was primary" }]);
});

test("a volume that goes back to the side that wrote it loses nothing, whatever has arrived elsewhere", async () => {
  const one = volumeOf("shop/back");
  await one.promote("east");
  await storage.setLink("cut", one.name);
  await one.demote("east");
  await one.promote("east");
  expect(await one.write("east")).toBe(2);
  expect(await one.damage()).toEqual([]);
});
