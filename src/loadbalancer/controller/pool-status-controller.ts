import { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import { parseKey } from "../../api/kind.ts";
import type { Cache } from "../../kube/cache/cache.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { controller } from "../../kube/controller/controller.ts";
import type { Manager } from "../../kube/controller/manager.ts";
import { changesOf, type Source } from "../../kube/controller/source.ts";
import type { Log } from "../../kube/log.ts";
import { allocatorMetrics } from "../metrics.ts";
import type { WriteBudget } from "../../kube/status/budget.ts";
import { StatusWriter } from "../../kube/status/status-writer.ts";
import type { Usage } from "../allocator/allocator.ts";
import { poolStatus } from "../status/pool-status.ts";

export interface PoolReportsOptions {
  manager: Manager;
  client: KubeClient;
  budget: WriteBudget;
  log: Log;
  pools: Cache<IPAddressPool>;
  /** Enqueues a pool, by `namespace/name`, when its allocations have changed. */
  usage: Source;
  usageOf: (pool: string) => Usage | undefined;
  /** Whether the pool can allocate; an invalid pool only keeps its allocations. */
  isInEffect: (pool: string) => boolean;
}

/** Keeps IPAddressPool.status and the gauges in line with the allocator. */
export function addPoolReports({ manager, client, budget, log, pools, usage, usageOf, isInEffect }: PoolReportsOptions): void {
  const writer = new StatusWriter({ client, budget, log, cache: pools, kind: IPAddressPool });
  const counting = controller("pool-status", {
    watches: [changesOf(pools), usage],
    log,
    reconcile(key) {
      const pool = parseKey(key).name;
      const inUse = pools.get(key) && usageOf(pool);
      if (inUse) writer.set(key, poolStatus(inUse, isInEffect(pool)));
      else writer.forget(key);
      measure(pool, inUse);
      return Promise.resolve();
    },
  });
  manager.add(
    {
      name: counting.name,
      async run(signal) {
        await counting.run(signal);
        // The next leader's allocations are not known here.
        for (const metric of Object.values(allocatorMetrics)) metric.reset();
      },
    },
    { leaderOnly: true },
  );
  manager.add(writer, { phase: "writers", leaderOnly: true });
}

function measure(pool: string, usage: Usage | undefined): void {
  if (!usage) {
    for (const metric of Object.values(allocatorMetrics)) metric.remove({ pool });
    return;
  }
  const { assignedIPv4, assignedIPv6, availableIPv4, availableIPv6, services } = usage;
  const figures: Record<keyof typeof allocatorMetrics, bigint | number> = {
    total: assignedIPv4 + assignedIPv6 + availableIPv4 + availableIPv6,
    inUse: assignedIPv4 + assignedIPv6,
    ipv4: assignedIPv4 + availableIPv4,
    ipv4InUse: assignedIPv4,
    ipv6: assignedIPv6 + availableIPv6,
    ipv6InUse: assignedIPv6,
    services,
  };
  for (const [name, metric] of Object.entries(allocatorMetrics))
    metric.set({ pool }, Number(figures[name as keyof typeof allocatorMetrics]));
}
