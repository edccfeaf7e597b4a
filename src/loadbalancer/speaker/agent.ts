import { ConfigMap } from "../../api/core/config-map.ts";
import { EndpointSlice, serviceNameLabel } from "../../api/core/endpoint-slice.ts";
import { Namespace } from "../../api/core/namespace.ts";
import { Node } from "../../api/core/node.ts";
import { Secret } from "../../api/core/secret.ts";
import { Service } from "../../api/core/service.ts";
import { BFDProfile } from "../../api/metallb/bfd-profile.ts";
import { BGPAdvertisement } from "../../api/metallb/bgp-advertisement.ts";
import { BGPPeer } from "../../api/metallb/bgp-peer.ts";
import { Community } from "../../api/metallb/community.ts";
import { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import { L2Advertisement } from "../../api/metallb/l2-advertisement.ts";
import { keyOf, type KubeObject } from "../../api/kind.ts";
import { Cache } from "../../kube/cache/cache.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { controller } from "../../kube/controller/controller.ts";
import { aborted } from "../../util/deadline.ts";
import type { Manager } from "../../kube/controller/manager.ts";
import { ChannelSource } from "../../kube/controller/source.ts";
import type { EventRecorder } from "../../kube/events/events.ts";
import type { Log } from "../../kube/log.ts";
import { membersName, parseMembers, type Members } from "../../kube/members/members.ts";
import type { WriteBudget } from "../../kube/status/budget.ts";
import { configChangesOf, relevantChangesOf } from "../config/changes.ts";
import { cachedObjects, type ConfigObjects, labeled } from "../config/objects.ts";
import { CandidateKeys, sharedKeySecretName } from "../candidate-keys.ts";
import { UnreadableKinds } from "../../kube/controller/unreadable-kinds.ts";
import { ReferencedSecrets } from "../../kube/controller/referenced-secrets.ts";
import { stripNamespace, stripNode, stripSecret, stripService, stripSlice } from "../services/transforms.ts";
import { internalIPv4, readNode, readService } from "../services/service-view.ts";
import { isOurs } from "../services/address-request.ts";
import type { SpeakerBackends } from "./drivers.ts";
import { joinProblems } from "./configuration-result.ts";
import type { SpeakerStateStore } from "./stored-decisions.ts";
import { StatusWriters } from "./status-writers.ts";
import { Speaker } from "./speaker.ts";
import { SpeakerEvents } from "./events.ts";

export interface SpeakerOptions {
  manager: Manager;
  client: KubeClient;
  log: Log;
  node: string;
  /** The namespace of the configuration. */
  namespace: string;
  /** Plumbline's namespace. */
  systemNamespace: string;
  lbClass?: string;
  ignoreExclude: boolean;
  memory: SpeakerStateStore;
  drivers(callbacks: SpeakerCallbacks): SpeakerBackends;
  budget: WriteBudget;
  events: EventRecorder;
}

export interface SpeakerCallbacks {
  nodeAddresses(): ReadonlyMap<string, readonly string[]>;
  /** Whether the agent of the node is alive, by the controller. */
  isMember(node: string): boolean;
  readonly keys: Pick<CandidateKeys, "of" | "shared">;
  onSessions(): void;
  /** FRR was restarted, or no longer answers. */
  onRestart(): void;
  /** An address is owned, in use or released, or a node stopped sending heartbeats. */
  onL2(): void;
}

/** Keys of passes over all Services; other keys are Services, `namespace/name`. */
const CONFIG = "configuration";
const NODES = "nodes";
const MEMBERS = "members";

/** A pass may rebuild FRR's configuration. */
const PASS_MS = 180_000;
const RESYNC_MS = 60_000;
const SECRETS_MS = 2_000;

export function addSpeaker(options: SpeakerOptions): void {
  const { manager, client, log, node, namespace, systemNamespace, memory, budget, events } = options;
  const views = clusterViews(manager, systemNamespace);
  const { services, slices, nodes, members } = views;
  const config = configViews(manager, namespace);
  const channel = new ChannelSource();
  const work = new ChannelSource();

  const reports = new StatusWriters({ manager, client, node, namespace, budget, log });
  const speakerEvents = new SpeakerEvents({ node, events, state: () => reports.state });
  const known = new LastKnown(() => membersIn(members.get(`${systemNamespace}/${membersName}`), log));
  const keys = new CandidateKeys({
    namespace: systemNamespace,
    open: () => new Cache(client, Secret, { namespace: systemNamespace, fieldSelector: `metadata.name=${sharedKeySecretName}`, log }),
  });
  const drivers = options.drivers({
    nodeAddresses: () => addressesOf(nodes.list()),
    isMember: (name) => speaker.isMember(name),
    keys,
    onSessions: () => work.ring("sessions"),
    onRestart: () => work.ring("bgp"),
    onL2: () => work.ring("holders"),
  });
  const speaker = new Speaker({ node, drivers, reports, memory, speakerEvents, ring: (what) => work.ring(what), log });
  const secrets = new ReferencedSecrets({
    namespace,
    open: (name) => new Cache(client, Secret, { namespace, fieldSelector: `metadata.name=${name}`, transform: stripSecret, log }),
    onChange: () => channel.ring(CONFIG),
  });
  const lost = new UnreadableKinds(Object.values(config.caches), CONFIG);
  reports.surroundings = {
    nodeUid: () => nodes.get(node)?.metadata.uid,
    isNode: (name) => nodes.get(name) !== undefined,
    isPeer: (name) => config.caches.peers.get(`${namespace}/${name}`) !== undefined,
    isService: (key) => services.get(key) !== undefined,
    isMember: (name) => speaker.isMember(name),
  };

  const updateNodes = () => {
    const nodeViews = nodes.list().map((object) => [object.metadata.name, readNode(object, options)] as const);
    const own = nodes.get(node);
    return speaker.updateNodes(new Map(nodeViews), own && internalIPv4(own));
  };
  const ofMembers = () => speaker.members(known.value && new Set(known.value.live));
  // Heartbeats are received as soon as the keys are known, even if nothing else can be read yet.
  members.subscribe(() => known.value && keys.update(known.value));
  const ofService = (key: string): void => {
    const service = services.get(key);
    speaker.service(key, service && isOurs(service, options.lbClass) ? readService(service, slices.by("service", key)) : undefined);
  };

  let isPrimed = false;
  const prime = async (): Promise<void> => {
    speaker.publish();
    await updateNodes();
    await ofMembers();
    // All of them before the first pass: a missing one would be withdrawn.
    for (const service of services.list()) ofService(keyOf(service));
    isPrimed = true;
  };
  const load = async (signal: AbortSignal): Promise<void> => {
    if (!isPrimed) await prime();
    await secrets.follow(config.secretNames(), SECRETS_MS, signal);
    const objects = { ...config.objects(), namespaces: labeled(views.namespaces.list()), nodes: labeled(nodes.list()) };
    await speaker.load({ ...objects, secret: (name) => secrets.get(name) }, joinProblems([lost.impairment(), secrets.impairment()]));
  };

  manager.add(
    controller("speaker", {
      watches: [
        ...Object.values(config.caches).map((cache) => configChangesOf(cache as unknown as Cache<KubeObject>, CONFIG)),
        relevantChangesOf(views.namespaces, () => [CONFIG]),
        relevantChangesOf(config.extras, () => [CONFIG]),
        relevantChangesOf(nodes, () => [NODES, CONFIG]),
        relevantChangesOf(members, () => [MEMBERS]),
        relevantChangesOf(services, (service) => [keyOf(service)]),
        // Most slices belong to Services that are not announced.
        relevantChangesOf(slices, (slice) => serviceOf(slice).filter((key) => services.get(key))),
        lost,
        channel,
      ],
      log,
      timeoutMs: PASS_MS,
      async reconcile(key, { signal }) {
        if (key === MEMBERS) return ofMembers();
        if (key === NODES) return updateNodes();
        if (key !== CONFIG) return ofService(key);
        if (nodes.get(node)) return load(signal);
        // In a cluster the kubelet creates it.
        log.warn({ node }, "this node has no Node object");
      },
    }),
  );
  manager.add(
    controller("announcements", {
      watches: [{ subscribe: (enqueue) => work.subscribe(enqueue), keys: () => ["bgp"] }],
      log,
      workers: 2,
      timeoutMs: PASS_MS,
      resyncMs: RESYNC_MS,
      async reconcile(key, { signal }) {
        if (key === "bgp") return speaker.carryOutBgp(signal);
        if (key === "l2") return speaker.carryOutL2();
        if (key === "sessions") return speaker.publishSessions();
        speaker.publish();
        await speaker.publishHolders();
      },
    }),
  );
  manager.add(secrets);
  manager.add(keys);
  // After the last pass has ended or was interrupted.
  manager.add({ name: "frr-state", run: (signal) => aborted(signal).then(() => speaker.saveState()) }, { phase: "writers" });
  channel.ring(CONFIG);
}

function clusterViews(manager: Manager, systemNamespace: string) {
  return {
    // Other types are not announced.
    services: manager.cache(Service, { fieldSelector: "spec.type=LoadBalancer", transform: stripService }),
    slices: manager.cache(EndpointSlice, { transform: stripSlice, indexes: { service: serviceOf } }),
    namespaces: manager.cache(Namespace, { transform: stripNamespace }),
    nodes: manager.cache(Node, { transform: stripNode }),
    members: manager.cache(ConfigMap, { namespace: systemNamespace, fieldSelector: `metadata.name=${membersName}` }),
  };
}

function configViews(manager: Manager, namespace: string) {
  const caches = {
    pools: manager.cache(IPAddressPool, { namespace }),
    peers: manager.cache(BGPPeer, { namespace }),
    bfdProfiles: manager.cache(BFDProfile, { namespace }),
    bgpAdvertisements: manager.cache(BGPAdvertisement, { namespace }),
    l2Advertisements: manager.cache(L2Advertisement, { namespace }),
    communities: manager.cache(Community, { namespace }),
  };
  const extras = manager.cache(ConfigMap, { namespace, fieldSelector: "metadata.name=bgpextras" });
  return {
    caches,
    extras,
    secretNames: () => new Set(caches.peers.list().flatMap(({ spec }) => spec?.passwordSecret?.name || [])),
    objects(): Omit<ConfigObjects, "namespaces" | "nodes" | "secret"> {
      const text = extras.get(`${namespace}/bgpextras`)?.data?.["extras"];
      return { ...cachedObjects(caches), ...(text !== undefined && { extras: text }) };
    },
  };
}

function serviceOf({ metadata }: EndpointSlice): string[] {
  const service = metadata.labels?.[serviceNameLabel];
  return service === undefined ? [] : [`${metadata.namespace}/${service}`];
}

function addressesOf(nodes: readonly Node[]): ReadonlyMap<string, readonly string[]> {
  return new Map(nodes.map(({ metadata, status }) => [metadata.name, status?.addresses?.map(({ address }) => address) ?? []]));
}

function membersIn(object: ConfigMap | undefined, log: Log): Members | undefined {
  if (!object) return undefined;
  try {
    return parseMembers(object);
  } catch (error) {
    log.warn({ error }, "cannot read members; keeping the last known members");
    return undefined;
  }
}

/** The last value that was read. An object that is deleted or invalid does not change it. */
export class LastKnown<T> {
  readonly #read: () => T | undefined;
  #known: T | undefined;

  constructor(read: () => T | undefined) {
    this.#read = read;
  }

  get value(): T | undefined {
    this.#known = this.#read() ?? this.#known;
    return this.#known;
  }
}
