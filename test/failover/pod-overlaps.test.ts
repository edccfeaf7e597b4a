import { expect, test } from "vitest";
import type { SiteName } from "../../lab/sites/names.ts";
import type { Pod } from "../../src/api/core/pod.ts";
import type { Change } from "../../src/kube/cache/cache.ts";
import { PodOverlaps } from "../support/pod-overlaps.ts";

type Listener = (change: Change<Pod>) => void;

/** Two clusters in which the test starts and ends pods, and delivers each change when it chooses. */
class Clusters {
  readonly pods: Record<SiteName, Pod[]> = { east: [], west: [] };
  readonly #listeners: Partial<Record<SiteName, Listener>> = {};
  readonly overlaps: PodOverlaps;

  constructor(beforeRead: (site: SiteName) => void = () => undefined) {
    const subscribe = (site: SiteName) => (listener: Listener) => {
      this.#listeners[site] = listener;
      return () => undefined;
    };
    const read = (site: SiteName) => {
      beforeRead(site);
      return Promise.resolve(this.pods[site]);
    };
    this.overlaps = new PodOverlaps({ east: { subscribe: subscribe("east") }, west: { subscribe: subscribe("west") } }, read);
    this.overlaps.begin();
  }

  see(type: "added" | "deleted", site: SiteName, object: Pod): void {
    this.#listeners[site]?.({ type, object } as Change<Pod>);
  }
}

const pod = (uid: string, deletionTimestamp?: string): Pod => ({
  metadata: { namespace: "shop", name: "db-0", uid, ...(deletionTimestamp !== undefined && { deletionTimestamp }) },
  spec: { containers: [] },
});

test.for([
  ["runs", pod("old")],
  ["is terminating", pod("old", "2026-01-01T00:00:00Z")],
] as const)("a pod that appears while one %s at the other site is an overlap", async ([, old]) => {
  const clusters = new Clusters();
  clusters.pods.east = [old];
  clusters.pods.west = [pod("new")];
  clusters.see("added", "west", pod("new"));
  expect(await clusters.overlaps.found()).toEqual(["shop/db-0 at west beside db-0 at east"]);
});

test("a pod that is seen late, when its successor is at the other site already, is none", async () => {
  const clusters = new Clusters();
  clusters.pods.west = [pod("new")];
  clusters.see("added", "east", pod("old"));
  clusters.see("deleted", "east", pod("old"));
  clusters.see("added", "west", pod("new"));
  expect(await clusters.overlaps.found()).toEqual([]);
});

test("a pod that has a successor of the same name by the time it is read again is none", async () => {
  const clusters: Clusters = new Clusters((site) => {
    if (site === "west") clusters.pods.west = [pod("third")];
  });
  clusters.pods.east = [pod("second")];
  clusters.see("added", "west", pod("first"));
  expect(await clusters.overlaps.found()).toEqual([]);
});

test("a site that cannot be read is not taken for one without pods", async () => {
  const clusters = new Clusters(() => {
    throw new Error("connection refused");
  });
  clusters.see("added", "west", pod("new"));
  await expect(clusters.overlaps.found()).rejects.toThrow("connection refused");
});
