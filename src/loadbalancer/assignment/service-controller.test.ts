import { expect, test, vi } from "vitest";
import { Service } from "../../api/core/service.ts";
import { keyOf } from "../../api/kind.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createLog } from "../../kube/log.ts";
import { config, pool } from "../announce/specimen.ts";
import type { Pool } from "../config/config.ts";
import type { Loaded } from "../config/load.ts";
import { FreshView } from "./fresh-view.ts";
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

/** A server with one Service, whose list is answered by hand. */
function stage() {
  const listed = Promise.withResolvers<void>();
  const patches: unknown[] = [];
  const client = {
    resource: () => ({
      list: async () => {
        await listed.promise;
        return { items: [web], resourceVersion: "1" };
      },
      patchStatus: (_ref: unknown, patch: unknown) => {
        patches.push(patch);
        return Promise.resolve(web);
      },
    }),
  } as unknown as KubeClient;
  const cache = {
    get: (key: string) => (key === keyOf(web) ? web : undefined),
    list: () => [web],
    subscribe(next: (change: { type: "added"; object: Service; initial: boolean }) => void) {
      next({ type: "added", object: web, initial: true });
      return () => undefined;
    },
    waitForSync: () => Promise.resolve(),
  };
  return { listed, patches, client, cache };
}

test("pools that change while a term begins count from its first decision on", async () => {
  const { listed, patches, client, cache } = stage();
  const begun = vi.fn<() => Promise<Loaded>>(() => Promise.resolve(loaded(pool("old", ["192.0.2.0/32"]))));
  const serving = new ServiceController({
    client,
    cache,
    services: new FreshView(client, Service, cache),
    lbClass: undefined,
    events: { record: () => undefined },
    begin: begun,
    onPool: () => undefined,
    onRefusal: () => undefined,
    log: createLog({ level: "silent" }),
  });
  const end = new AbortController();
  const running = serving.run(end.signal);
  await vi.waitFor(() => expect(begun).toHaveBeenCalled());
  serving.configure(loaded(pool("new", ["198.51.100.0/32"])));
  listed.resolve();
  await vi.waitFor(() => expect(patches).not.toEqual([]));
  end.abort();
  await running;
  expect(patches).toMatchObject([{ status: { loadBalancer: { ingress: [{ ip: "198.51.100.0" }] } } }]);
});
