import { expect, test } from "vitest";
import { map, paths, vni } from "./objects.ts";
import { MERGE, type Answer, type Conforming, type Following } from "./servers.ts";

const revisionOf = ({ json }: Answer) => (json["metadata"] as { resourceVersion: string }).resourceVersion;

export function watching(server: () => Conforming): void {
  const put = (ns: string, name: string, labels = {}) => server().send("POST", paths.vnis(ns), vni(name, {}, { labels }));
  const label = (ns: string, name: string, labels: object) => server().patch(`${paths.vnis(ns)}/${name}`, MERGE, { metadata: { labels } });
  const remove = (ns: string, name: string) => server().send("DELETE", `${paths.vnis(ns)}/${name}`);

  async function following(path: string, use: (watch: Following) => Promise<void>): Promise<void> {
    const watch = await server().watch(path);
    try {
      expect(watch.status).toBe(200);
      await use(watch);
    } finally {
      watch.close();
    }
  }

  test("from a resourceVersion on, sends every change with the object at that time", async () => {
    const ns = await server().namespace();
    const from = revisionOf(await put(ns, "a"));
    await label(ns, "a", { x: "1" });
    await put(ns, "b");
    const gone = await remove(ns, "a");
    expect(gone.status).toBe(200);
    await following(`${paths.vnis(ns)}?watch=true&resourceVersion=${from}`, async (watch) => {
      const events = [await watch.next(), await watch.next(), await watch.next()];
      expect(events.map((event) => `${event?.type} ${event?.object.metadata.name}`)).toEqual(["MODIFIED a", "ADDED b", "DELETED a"]);
      const [first, , last] = events;
      expect(first?.object).toMatchObject({ kind: "L3VNI", metadata: { labels: { x: "1" } }, spec: { vni: 100 } });
      expect(last?.object.metadata["labels"]).toEqual({ x: "1" });
      expect(Number(last?.object.metadata.resourceVersion)).toBeGreaterThan(Number(events[1]?.object.metadata.resourceVersion));
      await put(ns, "c");
      expect(await watch.take(1)).toEqual(["ADDED c"]);
    });
  });

  test("without a resourceVersion, existing objects come first", async () => {
    const ns = await server().namespace();
    await put(ns, "a");
    await put(ns, "b");
    await following(`${paths.vnis(ns)}?watch=true`, async (watch) => {
      expect((await watch.take(2)).sort()).toEqual(["ADDED a", "ADDED b"]);
      await put(ns, "c");
      expect(await watch.take(1)).toEqual(["ADDED c"]);
    });
  });

  test("with sendInitialEvents, a bookmark marks the end of the initial events", async () => {
    const ns = await server().namespace();
    await put(ns, "a");
    const last = revisionOf(await put(ns, "b"));
    const query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    await following(`${paths.vnis(ns)}?${query}`, async (watch) => {
      const events = [await watch.next(), await watch.next(), await watch.next()];
      expect(events.map((event) => event?.type)).toEqual(["ADDED", "ADDED", "BOOKMARK"]);
      const bookmark = events[2]?.object;
      expect(bookmark).toMatchObject({ kind: "L3VNI", apiVersion: "openpe.openperouter.github.io/v1alpha1" });
      expect(bookmark?.metadata.annotations).toEqual({ "k8s.io/initial-events-end": "true" });
      expect(Number(bookmark?.metadata.resourceVersion)).toBeGreaterThanOrEqual(Number(last));
      await remove(ns, "a");
      expect(await watch.take(1)).toEqual(["DELETED a"]);
    });
    const rejected = await server().send("GET", `${paths.vnis(ns)}?watch=true&sendInitialEvents=true`);
    expect([rejected.status, rejected.json["message"]]).toEqual([
      422,
      'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
    ]);
  });

  test("an object that leaves the selection is deleted for the watcher, one that enters it is added", async () => {
    const ns = await server().namespace();
    const from = revisionOf(await put(ns, "a", { app: "x" }));
    await following(`${paths.vnis(ns)}?watch=true&labelSelector=app%3Dx&resourceVersion=${from}`, async (watch) => {
      await put(ns, "other", { app: "y" });
      await label(ns, "a", { app: "x", more: "1" });
      await label(ns, "a", { app: "y" });
      await label(ns, "other", { app: "x" });
      await remove(ns, "a");
      await remove(ns, "other");
      const events = [await watch.next(), await watch.next(), await watch.next(), await watch.next()];
      expect(events.map((event) => `${event?.type} ${event?.object.metadata.name}`)).toEqual([
        "MODIFIED a",
        "DELETED a",
        "ADDED other",
        "DELETED other",
      ]);
      // The event for an object that left the selection has its last selected form.
      expect(events[1]?.object.metadata["labels"]).toEqual({ app: "x", more: "1" });
    });
  });

  test("one object can be watched by its name", async () => {
    const ns = await server().namespace();
    const from = revisionOf(await put(ns, "a"));
    await following(`${paths.vnis(ns)}?watch=true&fieldSelector=metadata.name%3Da&resourceVersion=${from}`, async (watch) => {
      await put(ns, "b");
      await label(ns, "a", { x: "1" });
      expect(await watch.take(1)).toEqual(["MODIFIED a"]);
    });
  });

  test("removing the last finalizer is a deletion for the watcher", async () => {
    const ns = await server().namespace();
    const created = await server().send("POST", paths.maps(ns), map("m", {}, { finalizers: ["example.com/hold"] }));
    await following(`${paths.maps(ns)}?watch=true&resourceVersion=${revisionOf(created)}`, async (watch) => {
      await server().send("DELETE", `${paths.maps(ns)}/m`);
      await server().patch(`${paths.maps(ns)}/m`, MERGE, { metadata: { finalizers: null } });
      expect(await watch.take(2)).toEqual(["MODIFIED m", "DELETED m"]);
    });
  });

  test("a resourceVersion that is no longer kept is answered with 410 within the watch", async () => {
    await following(`${paths.vnis("default")}?watch=true&resourceVersion=1`, async (watch) => {
      const event = await watch.next();
      expect(event).toEqual({
        type: "ERROR",
        object: {
          kind: "Status",
          apiVersion: "v1",
          metadata: {},
          status: "Failure",
          message: expect.stringMatching(/^too old resource version: 1 \(\d+\)$/) as string,
          reason: "Expired",
          code: 410,
        },
      });
      expect(await watch.next()).toBeUndefined();
    });
  });

  test("a watch ends at its timeout", async () => {
    const ns = await server().namespace();
    const from = revisionOf(await put(ns, "a"));
    await following(`${paths.vnis(ns)}?watch=true&timeoutSeconds=1&resourceVersion=${from}`, async (watch) => {
      expect(await watch.next()).toBeUndefined();
    });
  });
}
