import { expect, test } from "vitest";
import type { KubeObject } from "../../api/kind.ts";
import type { Change } from "../cache/cache.ts";
import { ChannelSource, changesOf } from "./source.ts";

interface Lamp extends KubeObject {
  node: string;
}

const lamp = (name: string, node: string): Lamp => ({ metadata: { name, namespace: "hall" }, node });

/** Holds two lamps and tells its one listener whatever the test says. */
function lamps() {
  const objects = [lamp("a", "n1"), lamp("b", "n2")];
  const listeners = new Set<(change: Change<Lamp>) => void>();
  return {
    tell: (change: Change<Lamp>) => listeners.forEach((listener) => listener(change)),
    list: () => objects,
    waitForSync: async () => {},
    subscribe(listener: (change: Change<Lamp>) => void) {
      listeners.add(listener);
      for (const object of objects) listener({ type: "added", object, initial: true });
      return () => listeners.delete(listener);
    },
  };
}

test("objects of the initial list have low priority, and later changes normal priority", () => {
  const cache = lamps();
  const heard: unknown[] = [];
  changesOf(cache).subscribe((key, options) => heard.push([key, options?.priority ?? "normal"]));
  cache.tell({ type: "added", object: lamp("c", "n1"), initial: false });
  cache.tell({ type: "deleted", object: lamp("a", "n1") });
  expect(heard).toEqual([
    ["hall/a", "low"],
    ["hall/b", "low"],
    ["hall/c", "normal"],
    ["hall/a", "normal"],
  ]);
});

test("an object that moves from one key to another enqueues both", () => {
  const cache = lamps();
  const heard: string[] = [];
  const unsubscribe = changesOf(cache, ({ node }) => [node]).subscribe((key) => heard.push(key));
  heard.length = 0;
  cache.tell({ type: "updated", old: lamp("a", "n1"), object: lamp("a", "n2") });
  unsubscribe();
  cache.tell({ type: "deleted", object: lamp("a", "n2") });
  expect(heard).toEqual(["n1", "n2"]);
});

test("an object that changes and keeps its key enqueues it once", () => {
  const cache = lamps();
  const heard: string[] = [];
  changesOf(cache, ({ node }) => [node]).subscribe((key) => heard.push(key));
  heard.length = 0;
  cache.tell({ type: "updated", old: lamp("a", "n1"), object: lamp("a", "n1") });
  expect(heard).toEqual(["n1"]);
});

test("a resync covers the keys of all cached objects", () => {
  expect([...(changesOf(lamps(), ({ node }) => [node, "all"]).keys?.() ?? [])]).toEqual(["n1", "all", "n2", "all"]);
});

test("a key that is sent before a subscription is delivered to the first subscriber", () => {
  const channel = new ChannelSource();
  channel.ring("early");
  channel.ring("early");
  const heard: string[] = [];
  const unsubscribe = channel.subscribe((key) => heard.push(key));
  channel.ring();
  unsubscribe();
  channel.ring("late");
  expect(heard).toEqual(["early", "all"]);
});
