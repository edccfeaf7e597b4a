import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ReplicatedStorage } from "./replicated-storage.ts";

let storage: ReplicatedStorage;
beforeEach(() => {
  vi.useFakeTimers();
  storage = new ReplicatedStorage({ syncMs: 50 });
});
afterEach(() => {
  vi.useRealTimers();
});

test("a volume is healthy only when no side is primary and the last writes have arrived", () => {
  storage.promote("east", "v");
  expect(storage.healthy("west", "v")).toBe(false);
  storage.demote("east", "v");
  expect(storage.healthy("west", "v")).toBe(false);
  vi.advanceTimersByTime(50);
  expect([storage.healthy("east", "v"), storage.healthy("west", "v")]).toEqual([true, true]);
  storage.promote("west", "v");
  expect(storage.primaries("v")).toEqual(["west"]);
  expect(storage.damage).toEqual([]);
});

test("a promotion while the other side is primary is a split brain, and the other side follows again only after a resync", () => {
  storage.promote("east", "v");
  storage.promote("west", "v");
  expect(storage.primaries("v")).toEqual(["east", "west"]);
  expect(storage.damage).toEqual([{ kind: "SplitBrain", site: "west", volume: "v", detail: "east was primary" }]);
  for (const site of ["east", "west"]) storage.demote(site, "v");
  vi.advanceTimersByTime(50);
  expect([storage.healthy("east", "v"), storage.healthy("west", "v")]).toEqual([false, true]);
  storage.resync("east", "v");
  expect(storage.healthy("east", "v")).toBe(true);
});

test("a promotion before the last writes have arrived loses them, unless it is on the side that wrote them", () => {
  storage.promote("east", "v");
  storage.demote("east", "v");
  storage.promote("west", "v");
  expect(storage.damage).toEqual([{ kind: "TailLost", site: "west", volume: "v", detail: "the last writes had not arrived" }]);
  storage.promote("east", "w");
  storage.demote("east", "w");
  storage.promote("east", "w");
  expect(storage.damage).toHaveLength(1);
});
