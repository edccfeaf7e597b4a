import { Namespace } from "../../api/core/namespace.ts";
import type { Node } from "../../api/core/node.ts";
import { Service } from "../../api/core/service.ts";
import { BFDProfile } from "../../api/metallb/bfd-profile.ts";
import { BGPAdvertisement } from "../../api/metallb/bgp-advertisement.ts";
import { BGPPeer } from "../../api/metallb/bgp-peer.ts";
import type { BGPSessionStatus } from "../../api/metallb/bgp-session-status.ts";
import { Community } from "../../api/metallb/community.ts";
import type { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import { L2Advertisement } from "../../api/metallb/l2-advertisement.ts";
import type { ServiceBGPStatus } from "../../api/metallb/service-bgp-status.ts";
import type { ServiceL2Status } from "../../api/metallb/service-l2-status.ts";
import { Cache } from "../../kube/cache/cache.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Manager } from "../../kube/controller/manager.ts";
import { ChannelSource } from "../../kube/controller/source.ts";
import type { EventRecorder } from "../../kube/events/events.ts";
import type { Log } from "../../kube/log.ts";
import type { AgentWatch } from "../../kube/members/agent-watch.ts";
import type { WriteBudget } from "../../kube/status/budget.ts";
import { ControllerConfiguration } from "./controller-configuration.ts";
import { ReadThroughCache } from "../../kube/cache/read-through-cache.ts";
import { ServiceController } from "./service-controller.ts";
import { loadBalancerClaims } from "../claims/claims-recorder.ts";
import { AnnouncedReports } from "./announced-controller.ts";
import { ClusterConfig, type RouterSources } from "../status/cluster-config.ts";
import { clusterWatch } from "../status/cluster-watch.ts";
import { addConfigurationReports } from "./configuration-status-controller.ts";
import { misnamedReports } from "../status/misnamed.ts";
import { addPoolReports } from "./pool-status-controller.ts";
import { apiVersionOf, type Kind, type KubeObject } from "../../api/kind.ts";
import type { Runnable } from "../../kube/controller/controller.ts";
import { aborted } from "../../util/deadline.ts";
import { wrongNamespaceWarning } from "../config/warnings.ts";

export interface LoadBalancerOptions {
  manager: Manager;
  /** Fenced if there is an election. */
  client: KubeClient;
  log: Log;
  /** Plumbline's namespace. */
  namespace: string;
  /** The namespace of the configuration and its statuses: `metallb-system`. */
  metallbNamespace: string;
  /** If unset, only Services without a class. */
  lbClass: string | undefined;
  /** Whether excluded nodes announce nevertheless; the same as in the speakers. */
  ignoreExclude: boolean;
  events: EventRecorder;
  budget: WriteBudget;
  /** With labels and the condition NetworkUnavailable. */
  nodes: Cache<Node>;
  agents: Pick<AgentWatch, "living" | "subscribe" | "ready">;
  /** Of the configuration's namespace. */
  states: Cache<ConfigurationState>;
  /** The L2 reports of the elected nodes. */
  l2Reports: Cache<ServiceL2Status>;
  /** The peers to which nodes announce Services. */
  bgpReports: Cache<ServiceBGPStatus>;
  sessions: Cache<BGPSessionStatus>;
  /** The routers of the nodes, to which the load balancer may announce. */
  routers: RouterSources;
  /** Returns when no write of an earlier leader can arrive. */
  waitForOldWrites: (signal: AbortSignal) => Promise<void>;
}

/** The controller's half of the load balancer: assigns addresses and writes the status of pools, Services and configuration. */
export function addLoadBalancer(options: LoadBalancerOptions): void {
  const { manager, client, log, events, waitForOldWrites, states, agents, metallbNamespace: namespace } = options;
  const pools = manager.cache(IPAddressPool, { namespace });
  const communities = manager.cache(Community, { namespace });
  const namespaces = manager.cache(Namespace, { transform: labelsOnly });
  const services = manager.cache(Service);

  const configuration = new ControllerConfiguration({
    pools: new ReadThroughCache(client, IPAddressPool, pools, { namespace }),
    communities: new ReadThroughCache(client, Community, communities, { namespace }),
    namespaces: new ReadThroughCache(client, Namespace, namespaces),
  });
  const [usage, unmetRequests, views] = [new ChannelSource(), new ChannelSource(), new ChannelSource()];
  const serving = new ServiceController({
    client,
    cache: services,
    services: new ReadThroughCache(client, Service, services),
    lbClass: options.lbClass,
    events,
    async begin(signal) {
      await waitForOldWrites(signal);
      return configuration.begin(signal);
    },
    onPool: (pool) => usage.ring(`${namespace}/${pool}`),
    onUnmetRequest: (key) => unmetRequests.ring(key),
    log,
  });
  manager.add(serving, { leaderOnly: true });
  addPoolReports({ ...options, pools, usage, usageOf: (pool) => serving.usage(pool), isInEffect: (pool) => serving.isInEffect(pool) });
  addConfigurationReports({
    ...options,
    namespace,
    sources: [pools, communities, namespaces],
    configuration,
    onLoaded: (loaded) => serving.configure(loaded),
  });

  const peers = manager.cache(BGPPeer, { namespace });
  const sources = {
    pools,
    peers,
    communities,
    namespaces,
    bfdProfiles: manager.cache(BFDProfile, { namespace }),
    bgpAdvertisements: manager.cache(BGPAdvertisement, { namespace }),
    l2Advertisements: manager.cache(L2Advertisement, { namespace }),
    nodes: options.nodes,
  };
  const view = new ClusterConfig(sources, options);
  const announced = new AnnouncedReports({
    ...options,
    services,
    unmetRequests,
    unmetRequestOf: (key) => serving.unmetRequest(key)?.message,
    isBusy: () => serving.isBusy,
    landscape: () => view.landscape,
  });
  const watching = clusterWatch({
    view,
    agents,
    events,
    onLoaded: () => views.ring(),
    onChange: () => announced.enqueueAll(),
    log,
  });
  manager.add(watching, { leaderOnly: true });
  manager.add(loadBalancerClaims({ ...options, pools, peers, communities, states, loaded: () => view.loaded, loading: views }), {
    leaderOnly: true,
  });

  manager.add(wrongNamespaceController(options), { leaderOnly: true });
  manager.add(misnamedReports({ ...options, peers, services }), { leaderOnly: true });
}

function labelsOnly({ apiVersion, kind, metadata }: Namespace): Namespace {
  const { name, uid, resourceVersion, labels } = metadata;
  return JSON.parse(JSON.stringify({ apiVersion, kind, metadata: { name, uid, resourceVersion, labels } })) as Namespace;
}

interface Options {
  client: KubeClient;
  /** The namespace of the configuration. */
  metallbNamespace: string;
  events: Pick<EventRecorder, "record">;
  log: Log;
}

const KINDS = [IPAddressPool, BGPPeer, BFDProfile, BGPAdvertisement, L2Advertisement, Community] as readonly Kind[];

/**
 * Records a warning for configuration objects outside the load balancer's namespace. It lists only those objects, usually none; nothing else waits for the
 * list, which RBAC may deny.
 */
function wrongNamespaceController({ client, metallbNamespace, events, log }: Options): Runnable {
  return {
    name: "objects in the wrong namespace",
    async run(signal) {
      for (const kind of KINDS) {
        const cache = new Cache(client, kind, { fieldSelector: `metadata.namespace!=${metallbNamespace}`, transform: nameOnly, log });
        cache.subscribe((change) => {
          if (change.type !== "added") return;
          const { name, namespace = "" } = change.object.metadata;
          const message = wrongNamespaceWarning({ kind: kind.kind, name, namespace }, metallbNamespace);
          events.record(
            { ...change.object, apiVersion: apiVersionOf(kind), kind: kind.kind },
            { type: "Warning", reason: "Ineffective", message },
          );
        });
        cache.start(signal);
      }
      await aborted(signal);
    },
  };
}

/** Without the spec: a BGPPeer may contain a password. */
function nameOnly({ metadata: { name, namespace, uid, resourceVersion } }: KubeObject): KubeObject {
  return { metadata: JSON.parse(JSON.stringify({ name, namespace, uid, resourceVersion })) as KubeObject["metadata"] };
}
