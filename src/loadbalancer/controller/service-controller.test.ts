import { setTimeout as sleep } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { Service } from "../../api/core/service.ts";
import { keyOf } from "../../api/kind.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createLog } from "../../kube/log.ts";
import { serviceUpdates } from "../metrics.ts";
import { config, pool } from "../testing/announcement-fixtures.ts";
import type { Pool } from "../config/config.ts";
import type { Loaded } from "../config/load.ts";
import { ReadThroughCache } from "../../kube/cache/read-through-cache.ts";
import { ServiceController } from "./service-controller.ts";

function loaded(...pools: Pool[]): Loaded {
  const resources = pools.map(({ name }) => ({ kind: "IPAddressPool", name, generation: 1, state: "Applied" as const }));
  return { config: config({ pools }), failures: [], warnings: [], unread: [], resources, lastGood: new Map() };
}

const web: Service = {
  metadata: { name: "web", namespace: "shop", uid: "web", resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" },
  spec: { type: "LoadBalancer", clusterIPs: ["10.96.0.1"], ports: [{ protocol: "TCP", port: 80 }] },
  status: {},
};

const named = (name: string): Service => ({ ...web, metadata: { ...web.metadata, name, uid: name } });

/** A server with these Services, whose list is answered by hand. */
function harness(...services: Service[]) {
  const listed = Promise.withResolvers<void>();
  const patches: unknown[] = [];
  const client = {
    resource: () => ({
      list: async () => {
        await listed.promise;
        return { items: services, resourceVersion: "1" };
      },
      patchStatus: ({ name }: { name: string }, patch: Partial<Service>) => {
        patches.push(patch);
        const found = services.find(({ metadata }) => metadata.name === name) ?? web;
        const metadata = { ...found.metadata, ...patch.metadata, resourceVersion: "2" };
        return Promise.resolve({ ...found, ...patch, metadata });
      },
    }),
  } as unknown as KubeClient;
  const cache = {
    get: (key: string) => services.find((service) => keyOf(service) === key),
    list: () => services,
    subscribe(next: (change: { type: "added"; object: Service; initial: boolean }) => void) {
      for (const object of services) next({ type: "added", object, initial: true });
      return () => undefined;
    },
    waitForSync: () => Promise.resolve(),
  };
  return { listed, patches, client, cache };
}

test("pools that change while a leader starts count from its first decision on", async () => {
  const { listed, patches, client, cache } = harness(web);
  const begun = vi.fn<() => Promise<Loaded>>(() => Promise.resolve(loaded(pool("old", ["192.0.2.0/32"]))));
  const serving = new ServiceController({
    client,
    cache,
    services: new ReadThroughCache(client, Service, cache),
    lbClass: undefined,
    events: { record: () => undefined },
    begin: begun,
    onPool: () => undefined,
    onUnmetRequest: () => undefined,
    log: createLog({ level: "silent" }),
  });
  const end = new AbortController();
  const running = serving.run(end.signal);
  await vi.waitFor(() => expect(begun).toHaveBeenCalled(), 30_000);
  serving.configure(loaded(pool("new", ["198.51.100.0/32"])));
  listed.resolve();
  await vi.waitFor(() => expect(patches).not.toEqual([]), 30_000);
  end.abort();
  await running;
  expect(patches).toMatchObject([{ status: { loadBalancer: { ingress: [{ ip: "198.51.100.0" }] } } }]);
});

async function reconciles(): Promise<number> {
  return (await serviceUpdates.get()).values[0]?.value ?? 0;
}

test("a pool edit reconciles Services that lack an address, and an unchanged configuration reconciles none", async () => {
  const { listed, patches, client, cache } = harness(...["a", "b", "c"].map(named));
  const serving = new ServiceController({
    client,
    cache,
    services: new ReadThroughCache(client, Service, cache),
    lbClass: undefined,
    events: { record: () => undefined },
    begin: () => Promise.resolve(loaded(pool("main", ["192.0.2.0/31"]))),
    onPool: () => undefined,
    onUnmetRequest: () => undefined,
    log: createLog({ level: "silent" }),
  });
  const end = new AbortController();
  const running = serving.run(end.signal);
  listed.resolve();
  await vi.waitFor(() => expect([patches.length, serving.unmetRequest("shop/c")?.reason]).toEqual([2, "AllocationFailed"]), 30_000);
  const before = await reconciles();

  serving.configure(loaded(pool("main", ["192.0.2.0/31"])));
  await sleep(20);
  expect(await reconciles()).toBe(before);
  serving.configure(loaded(pool("main", ["192.0.2.0/31"]), pool("other", ["198.51.100.0/32"], { autoAssign: false })));
  await vi.waitFor(async () => expect(await reconciles()).toBe(before + 1), 30_000);
  expect(serving.unmetRequest("shop/c")?.message).toMatch("pool other: it is assigned only on request");
  serving.configure(loaded(pool("main", ["192.0.2.0/30"])));
  await vi.waitFor(() => expect(patches).toHaveLength(3), 30_000);
  expect(serving.unmetRequest("shop/c")).toBeUndefined();
  end.abort();
  await running;
});
