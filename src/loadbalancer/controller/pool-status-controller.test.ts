import { expect, test, vi } from "vitest";
import type { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import type { Cache } from "../../kube/cache/cache.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Runnable } from "../../kube/controller/controller.ts";
import type { Manager } from "../../kube/controller/manager.ts";
import { ChannelSource } from "../../kube/controller/source.ts";
import { createLog } from "../../kube/log.ts";
import { allocatorMetrics } from "../metrics.ts";
import { WriteBudget } from "../../kube/status/budget.ts";
import { addPoolReports } from "./pool-status-controller.ts";

const pool = { metadata: { name: "main", namespace: "metallb-system" } } as IPAddressPool;
const figures = async () => (await allocatorMetrics.total.get()).values.map(({ value }) => value);

test("a former leader exports no pool metrics", async () => {
  const runnables: Runnable[] = [];
  const pools = {
    get: () => pool,
    list: () => [pool],
    subscribe: () => () => undefined,
    onConnection: () => () => undefined,
    waitForSync: () => Promise.resolve(),
    synced: true,
  } as unknown as Cache<IPAddressPool>;
  const usage = new ChannelSource();
  addPoolReports({
    manager: { add: (runnable: Runnable) => runnables.push(runnable) } as unknown as Manager,
    client: { resource: () => ({}) } as unknown as KubeClient,
    budget: new WriteBudget(),
    log: createLog({ level: "silent" }),
    pools,
    usage,
    usageOf: () => ({ assignedIPv4: 3n, assignedIPv6: 0n, availableIPv4: 1n, availableIPv6: 0n, services: 2 }),
    isInEffect: () => true,
  });
  const [counting] = runnables;
  const end = new AbortController();
  const running = counting?.run(end.signal);
  usage.ring("metallb-system/main");
  await vi.waitFor(async () => expect(await figures()).toEqual([4]), 30_000);
  end.abort();
  await running;
  expect(await figures()).toEqual([]);
});
