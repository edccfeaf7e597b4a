import { nodeAnnotation } from "../../api/annotations.ts";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Service } from "../../api/core/service.ts";
import type { ServiceL2Status } from "../../api/metallb/service-l2-status.ts";
import type { KubeObject } from "../../api/kind.ts";
import type { Cache, Change } from "../../kube/cache/cache.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Runnable } from "../../kube/controller/controller.ts";
import type { Manager } from "../../kube/controller/manager.ts";
import { ChannelSource } from "../../kube/controller/source.ts";
import { createLog } from "../../kube/log.ts";
import { ApiModel } from "../../kube/testing/api-model.ts";
import { WriteBudget } from "../../kube/status/budget.ts";
import { L2Elections } from "../announcement/l2-election.ts";
import { PoolIndex } from "../config/pool-index.ts";
import { config, l2Ad, node, pool } from "../testing/announcement-fixtures.ts";
import { servicesNotAnnounced } from "../metrics.ts";
import { AnnouncedReports } from "./announced-controller.ts";
import { groupNodes } from "../status/node-groups.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const KEY = "shop/web";
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

/** A cache of one object at most, which the test puts there. */
function cacheOf<T extends KubeObject>() {
  const listeners = new Set<(change: Change<T>) => void>();
  let stored: T | undefined;
  const cache = {
    get: () => stored,
    by: () => (stored ? [stored] : []),
    subscribe: (listener: (change: Change<T>) => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    waitForSync: () => Promise.resolve(),
  } as unknown as Cache<T>;
  const put = (object: T) => {
    stored = object;
    for (const listener of listeners) listener({ type: "added", object, initial: false });
  };
  return { cache, put };
}

/** What is said of the Service `shop/web`, for which the node `n1` is elected. */
function harness(lbClass?: string, ingress: { ip: string }[] = [{ ip: "192.0.2.1" }]) {
  const api = new ApiModel<Service>();
  const [slices, l2, bgp] = [cacheOf(), cacheOf<ServiceL2Status>(), cacheOf()];
  const runnables: Runnable[] = [];
  const whole = config({ pools: [pool("pool", ["192.0.2.0/24"])], l2Ads: [l2Ad("all")] });
  const [nodes, isAlive] = [[node("n1")], () => true];
  const input = {
    config: whole,
    pools: new PoolIndex(whole.pools.values()),
    nodes,
    groups: groupNodes(nodes, whole, isAlive, new Map()),
    isAlive,
    elections: new L2Elections(),
    doubtful: new Set<string>(),
    evidence: new Map(),
  };
  slices.put({
    metadata: { name: "web-1", namespace: "shop", labels: { "kubernetes.io/service-name": "web" } },
    addressType: "IPv4",
    endpoints: [{ addresses: ["10.0.0.1"], nodeName: "n1", conditions: { ready: true } }],
  } as KubeObject);
  api.add({
    metadata: { name: "web", namespace: "shop" },
    spec: { type: "LoadBalancer" },
    status: { loadBalancer: { ingress } },
  });
  const events: string[] = [];
  const reports = new AnnouncedReports({
    manager: { cache: () => slices.cache, add: (runnable: Runnable) => runnables.push(runnable) } as unknown as Manager,
    client: { resource: () => api.resource() } as unknown as KubeClient,
    budget: new WriteBudget(),
    log: createLog({ level: "silent" }),
    events: { record: (_object, { reason }) => void events.push(reason) },
    lbClass,
    services: { ...api.cache, list: () => [api.object(KEY)] } as unknown as Cache<Service>,
    l2Reports: l2.cache,
    bgpReports: bgp.cache,
    nodes: { get: () => undefined } as never,
    unmetRequests: new ChannelSource(),
    unmetRequestOf: () => undefined,
    landscape: () => input,
    isBusy: () => false,
  });
  const end = new AbortController();
  const ended = Promise.all(runnables.map((runnable) => runnable.run(end.signal)));
  return {
    events,
    reason: () => api.object(KEY)?.status?.conditions?.[0]?.reason,
    conditions: () => api.object(KEY)?.status?.conditions ?? [],
    edit: (status: NonNullable<Service["status"]>) =>
      api.edit(KEY, (service) => ({ ...service, status: { ...service.status, ...status } })),
    enqueueAll: () => reports.enqueueAll(),
    setDoubtful: (...doubtful: string[]) => {
      input.doubtful = new Set(doubtful);
      reports.enqueueAll();
    },
    says: (reason: string) =>
      l2.put({
        metadata: { name: "web", namespace: "shop", annotations: { [nodeAnnotation]: "n1" } },
        status: {
          node: "n1",
          conditions: [
            {
              type: "Announced",
              status: reason === "Holding" ? "True" : "False",
              reason,
              message: "",
              lastTransitionTime: "2026-01-01T00:00:00Z",
            },
          ],
        },
      }),
    end: async () => {
      end.abort();
      await pass(10_000);
      await ended;
    },
  };
}

test("reports that the elected node does not answer if it persists, and not during a takeover", async () => {
  const { events, reason, says, enqueueAll, end } = harness();
  enqueueAll();
  await pass(15_000);
  expect(reason()).toBe("Announced");
  says("AddressInUse");
  await pass(2_000);
  expect(reason()).toBe("Announced");
  says("Holding");
  await pass(60_000);
  expect(reason()).toBe("Announced");
  expect(events).toEqual(["Announced"]);
  says("AddressInUse");
  await pass(5_000);
  expect(reason()).toBe("addressInUse");
  expect((await servicesNotAnnounced.get()).values).toEqual([{ labels: { reason: "addressInUse" }, value: 1 }]);
  await pass(10_000);
  expect(events).toEqual(["Announced", "NotAnnounced"]);
  says("Holding");
  await pass(15_000);
  expect((await servicesNotAnnounced.get()).values).toEqual([{ labels: { reason: "addressInUse" }, value: 0 }]);
  await end();
  expect((await servicesNotAnnounced.get()).values).toEqual([]);
});

test("an elected node that starts again is reported only if it does not run the configuration after ten seconds", async () => {
  const { events, reason, enqueueAll, setDoubtful, end } = harness();
  enqueueAll();
  await pass(15_000);
  setDoubtful("n1");
  await pass(8_000);
  expect(reason()).toBe("Announced");
  setDoubtful();
  await pass(60_000);
  expect(reason()).toBe("Announced");
  expect(events).toEqual(["Announced"]);
  setDoubtful("n1");
  await pass(12_000);
  expect(reason()).toBe("configurationInvalid");
  await end();
});

test("a Service of a class without a controller is reported after a minute, until it gets an address", async () => {
  const { events, conditions, edit, enqueueAll, end } = harness("plumbline", []);
  enqueueAll();
  await pass(59_000);
  expect(conditions()).toEqual([]);
  await pass(5_000);
  const message = "No controller serves Services without loadBalancerClass: the Service has no address";
  expect(conditions()).toMatchObject([{ type: "metallb.io/Announced", status: "False", reason: "Unserved", message }]);
  expect(events).toEqual(["NotAnnounced"]);
  expect((await servicesNotAnnounced.get()).values).toEqual([{ labels: { reason: "Unserved" }, value: 1 }]);
  edit({ loadBalancer: { ingress: [{ ip: "203.0.113.1" }] } });
  await pass(15_000);
  expect(conditions()).toEqual([]);
  expect((await servicesNotAnnounced.get()).values).toEqual([{ labels: { reason: "Unserved" }, value: 0 }]);
  await end();
});

test("the condition of another class's controller is left alone", async () => {
  const { conditions, edit, enqueueAll, end } = harness("plumbline", []);
  const theirs = {
    type: "metallb.io/Announced",
    status: "False" as const,
    reason: "noIPAllocated",
    message: "No address: all are in use",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  };
  edit({ conditions: [theirs] });
  enqueueAll();
  await pass(120_000);
  expect(conditions()).toEqual([theirs]);
  await end();
});
