import { Namespace } from "../api/core/namespace.ts";
import { Service } from "../api/core/service.ts";
import { Community } from "../api/metallb/community.ts";
import { IPAddressPool } from "../api/metallb/ip-address-pool.ts";
import type { ConfigurationState } from "../api/metallb/configuration-state.ts";
import type { Cache } from "../kube/cache/cache.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Manager } from "../kube/controller/manager.ts";
import { Bell } from "../kube/controller/source.ts";
import type { EventRecorder } from "../kube/events.ts";
import type { Log } from "../kube/log.ts";
import type { WriteBudget } from "../kube/status/budget.ts";
import { ControllerConfiguration } from "./assignment/controller-configuration.ts";
import { FreshView } from "./assignment/fresh-view.ts";
import { ServiceController } from "./assignment/service-controller.ts";
import { addConfigurationReports } from "./report/configuration-reports.ts";
import { addPoolReports } from "./report/pool-reports.ts";

export interface LoadBalancerOptions {
  manager: Manager;
  /** Fenced where there is an election: everything here writes as leader. */
  client: KubeClient;
  log: Log;
  /** Of the configuration and its statuses: `metallb-system`. */
  metallbNamespace: string;
  /** Only Services of this class; without it, only those of none. */
  lbClass: string | undefined;
  events: EventRecorder;
  budget: WriteBudget;
  /** Every ConfigurationState of the namespace. */
  states: Cache<ConfigurationState>;
  /** Returns when no write of an earlier leader can arrive any more. */
  settle: (signal: AbortSignal) => Promise<void>;
}

/** The controller's half of the load balancer: who has which address, and what is to be said of pools and configuration as a whole. */
export function addLoadBalancer(options: LoadBalancerOptions): void {
  const { manager, client, log, events, settle, metallbNamespace: namespace } = options;
  const pools = manager.cache(IPAddressPool, { namespace });
  const communities = manager.cache(Community, { namespace });
  const namespaces = manager.cache(Namespace, { transform: labelsOnly });
  const services = manager.cache(Service);

  const configuration = new ControllerConfiguration({
    pools: new FreshView(client, IPAddressPool, pools, { namespace }),
    communities: new FreshView(client, Community, communities, { namespace }),
    namespaces: new FreshView(client, Namespace, namespaces),
  });
  const usage = new Bell();
  const serving = new ServiceController({
    client,
    cache: services,
    services: new FreshView(client, Service, services),
    lbClass: options.lbClass,
    events,
    async begin(signal) {
      await settle(signal);
      return configuration.begin(signal);
    },
    onPool: (pool) => usage.ring(`${namespace}/${pool}`),
    log,
  });
  manager.add(serving, { leaderOnly: true });
  addPoolReports({ ...options, pools, usage, usageOf: (pool) => serving.usage(pool) });
  addConfigurationReports({
    ...options,
    namespace,
    sources: [pools, communities, namespaces],
    configuration,
    onLoaded: (loaded) => serving.configure(loaded),
  });
}

function labelsOnly({ apiVersion, kind, metadata }: Namespace): Namespace {
  const { name, uid, resourceVersion, labels } = metadata;
  return JSON.parse(JSON.stringify({ apiVersion, kind, metadata: { name, uid, resourceVersion, labels } })) as Namespace;
}
