import { setFlagsFromString } from "node:v8";
import { setTimeout as sleep } from "node:timers/promises";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { ConfigMap } from "../../src/api/core/config-map.ts";
import { keyOf } from "../../src/api/kind.ts";
import { Cache, type Change } from "../../src/kube/cache/cache.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { cacheLists, watchReconnects } from "../../src/kube/metrics.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";
import { CuttingProxy } from "../support/disconnecting-proxy.ts";

const SEED = 20_260_803;
const ROUNDS = 5;
const CHANGES_PER_ROUND = 220;
const NAMES = 60;
const COLORS = ["red", "green", "blue"];

const { signal } = new AbortController();

let api: SuiteApiServer;
let direct: KubeClient;

beforeAll(async () => {
  api = await apiServer("cutting");
  direct = new KubeClient(api.access);
});

afterAll(async () => {
  direct.close();
  await api.stop();
});

function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 4_294_967_296;
  };
}

/** Creates, updates and deletes at random, past the proxy. */
class Writer {
  changes = 0;
  readonly #maps = direct.resource(ConfigMap);
  readonly #random = random(SEED);
  readonly #present = new Set<string>();

  async change(): Promise<void> {
    const name = `map-${Math.floor(this.#random() * NAMES)}`;
    const ref = { name, namespace: "default" };
    const data = {
      color: COLORS[Math.floor(this.#random() * COLORS.length)] ?? "",
      change: String(this.changes++),
      filler: "x".repeat(3_000),
    };
    if (!this.#present.has(name)) {
      this.#present.add(name);
      await this.#maps.create({ metadata: ref, data }, { signal });
    } else if (this.#random() < 0.3) {
      this.#present.delete(name);
      await this.#maps.delete(ref, { signal });
    } else {
      await this.#maps.patch(ref, { data }, { signal });
    }
    // The cache has to come back in time to lose the connection again.
    await sleep(5);
  }
}

/** Subscribes to the changes and compares each with the earlier ones. */
class Follower {
  readonly objects = new Map<string, ConfigMap>();
  readonly illegal: string[] = [];

  hear(change: Change<ConfigMap>): void {
    const { type, object } = change;
    const key = keyOf(object);
    const before = this.objects.get(key);
    if (type === "added" && before) this.illegal.push(`${key} added twice`);
    if (type === "updated" && before !== change.old) this.illegal.push(`${key} updated from something else than was told`);
    if (type === "deleted" && !before) this.illegal.push(`${key} deleted though it was not there`);
    if (before && type === "updated" && Number(object.metadata.resourceVersion) <= Number(before.metadata.resourceVersion)) {
      this.illegal.push(`${key} went back from ${before.metadata.resourceVersion} to ${object.metadata.resourceVersion}`);
    }
    if (type === "deleted") this.objects.delete(key);
    else this.objects.set(key, object);
  }
}

function byKey(objects: Iterable<ConfigMap>): Record<string, ConfigMap> {
  const sorted = [...objects].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  return Object.fromEntries(
    sorted.map((object) => {
      const metadata = { ...object.metadata };
      delete metadata.managedFields;
      return [keyOf(object), { ...object, metadata }];
    }),
  );
}

function heapAfterCollection(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}

async function counted(counter: typeof cacheLists | typeof watchReconnects, label: string): Promise<Record<string, number>> {
  const { values } = await (counter as typeof cacheLists).get();
  return Object.fromEntries(values.map(({ labels, value }) => [(labels as Record<string, string>)[label], value]));
}

test("over a thousand changes through a network that resets, stalls, truncates and delays, nothing is lost, doubled or leaked", async () => {
  cacheLists.reset();
  watchReconnects.reset();
  const proxy = await CuttingProxy.before(api.server.port, SEED);
  const far = new KubeClient({ ...api.access, server: `https://127.0.0.1:${proxy.port}` }, { deadlineMs: 300 });
  const stop = new AbortController();
  const cache = new Cache(far, ConfigMap, {
    namespace: "default",
    indexes: { color: ({ data }) => [data?.["color"] ?? ""] },
    pace: { idleMs: 200, backoff: { minMs: 5, maxMs: 50 } },
  });
  const follower = new Follower();
  cache.subscribe((change) => follower.hear(change));
  cache.start(stop.signal);

  const writer = new Writer();
  const heap: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    proxy.calm = false;
    for (let change = 0; change < CHANGES_PER_ROUND; change++) await writer.change();
    if (round === 1) {
      // Away for long enough that the server has forgotten where we were.
      proxy.blocked = true;
      proxy.cutAll();
      for (let change = 0; change < 20; change++) await writer.change();
      await api.server.restart();
      proxy.blocked = false;
      for (let change = 0; change < 20; change++) await writer.change();
    }
    proxy.calm = true;
    proxy.cutAll();
    const fresh = byKey((await direct.resource(ConfigMap).list({ namespace: "default", signal })).items);
    await vi.waitFor(() => expect(byKey(cache.list())).toEqual(fresh), { timeout: 60_000, interval: 50 });
    expect(byKey(follower.objects.values())).toEqual(fresh);
    for (const color of COLORS) {
      const expected = cache.list().filter(({ data }) => data?.["color"] === color);
      expect(new Set(cache.by("color", color))).toEqual(new Set(expected));
    }
    heap.push(heapAfterCollection());
  }

  expect(follower.illegal).toEqual([]);
  expect(writer.changes).toBeGreaterThan(1_000);
  expect(Math.min(...Object.values(proxy.suffered))).toBeGreaterThanOrEqual(3);
  expect(await counted(watchReconnects, "cause")).toMatchObject({
    Unreachable: expect.any(Number),
    silent: expect.any(Number),
    Gone: expect.any(Number),
  });
  // The first round warms up; after it, the same sixty objects take the same room.
  expect(Math.max(...heap.slice(2)) / (heap[1] ?? 1)).toBeLessThan(1.08);
  expect(proxy.connections).toBeLessThanOrEqual(2);

  stop.abort();
  far.close();
  await vi.waitFor(() => expect(proxy.connections).toBe(0), { timeout: 60_000 });
  await proxy.stop();
});
