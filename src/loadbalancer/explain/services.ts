import { EndpointSlice } from "../../api/core/endpoint-slice.ts";
import { Service } from "../../api/core/service.ts";
import { BGPAdvertisement } from "../../api/metallb/bgp-advertisement.ts";
import { BGPPeer } from "../../api/metallb/bgp-peer.ts";
import { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import { L2Advertisement } from "../../api/metallb/l2-advertisement.ts";
import { ServiceBGPStatus } from "../../api/metallb/service-bgp-status.ts";
import { ServiceL2Status } from "../../api/metallb/service-l2-status.ts";
import { type LabelSelector, selects } from "../../api/core/label-selector.ts";
import { type Condition, keyOf } from "../../api/kind.ts";
import { explainer, type Explainer, type Index, type Need, type Sight, type Standing, type Thing } from "../../api/health.ts";
import { agentOn } from "../../kube/members/agent-health.ts";
import { annotatedPool } from "../controller/service-patch.ts";
import { announcedType } from "../status/announced-condition.ts";
import { serviceOf } from "../status/speaker-statuses.ts";
import { nodeOfReport } from "../status/unknown.ts";
import { lackOf, unmetWish } from "./no-address.ts";
import { conditionOf, HEALTHY, objectOf, on, standing, type Word } from "../explaining/things.ts";

/** A Service of type LoadBalancer: it needs an address, and somebody who announces it. */
export function services(metallbNamespace: string): Explainer {
  return explainer(Service, function* (service, sight): Iterable<Standing> {
    const { metadata, spec, status } = service;
    const thing = objectOf("Service", metadata);
    const announced = conditionOf(status?.conditions, announcedType);
    const isOthers = spec.loadBalancerClass && !announced;
    if (spec.type !== "LoadBalancer" || metadata.deletionTimestamp !== undefined || isOthers) {
      yield standing(thing, HEALTHY);
      return;
    }
    const announcing = announcersOf(service, sight);
    if (announced?.status === "False") {
      yield* notAnnounced(service, announced, announcing, { sight, metallbNamespace });
      return;
    }
    // Before it has been looked at for the first time nothing is wrong with it, unless nobody is there to look.
    const needs: Need[] = announced ? announcing : [{ thing: { kind: "Controller", name: "plumbline" } }, ...announcing];
    yield standing(thing, unmetWish(service) ?? HEALTHY, needs);
  });
}

const bgpReports: Index<ServiceBGPStatus> = { kind: ServiceBGPStatus, of: serviceOf };

function announcersOf(service: Service, sight: Sight): Need[] {
  const key = keyOf(service);
  const l2 = sight.get(ServiceL2Status, key);
  const reports = [...sight.by(bgpReports, key), ...(l2 ? [l2] : [])];
  const nodes = new Set(reports.flatMap((report) => nodeOfReport(report) ?? report.status?.node ?? []));
  return Array.from(nodes, (node): Need => ({ thing: on(node, objectOf("Service", service.metadata)), as: "alternative" }));
}

interface Ground {
  readonly sight: Sight;
  readonly metallbNamespace: string;
}

function* notAnnounced(service: Service, announced: Condition, announcing: readonly Need[], ground: Ground): Iterable<Standing> {
  const { reason, message, lastTransitionTime: since } = announced;
  const thing = objectOf("Service", service.metadata);
  const word: Word = { health: "Down", reason, message, since };
  if (reason === "noIPAllocated") {
    const { pools, word: lack } = lackOf(service, message, ground.metallbNamespace, ground.sight);
    yield* pools;
    yield standing(
      thing,
      { ...word, ...lack },
      pools.map(({ thing: pool }) => ({ thing: pool, as: "alternative" })),
    );
    return;
  }
  const { said, needs, ...blame } = (BLAMES[reason] ?? atLarge)(service, ground, message);
  yield* said ?? [];
  yield standing(thing, { ...word, ...blame }, [...announcing, ...(needs ?? [])]);
}

/** Who else is to blame, and what is to be done about it if nobody is. */
interface Blame extends Pick<Word, "ownFault" | "remedy"> {
  readonly said?: readonly Standing[];
  readonly needs?: readonly Need[];
}

const BLAMES: Readonly<Record<string, (service: Service, ground: Ground, message: string) => Blame>> = {
  noEndpoints: (service) => ({ ownFault: true, remedy: endpointsRemedy(service) }),
  noLocalEndpoints: (service) => ({ ownFault: true, remedy: endpointsRemedy(service) }),
  ipNotAllowed: foreignAddress,
  noMatchingAdvertisement: uncovered,
  speakerSilent: (_service, { sight }) => ({
    needs: silentNodes(sight).map((node) => ({ thing: agentOn(node), as: "alternative" })),
  }),
  sharedIPWithServiceSelector: (service) => ({
    ownFault: true,
    remedy: {
      text: "have it share its address with nobody, or have an L2Advertisement without serviceSelectors announce it",
      change: { thing: objectOf("Service", service.metadata), field: "metadata.annotations[metallb.io/allow-shared-ip]" },
    },
  }),
};

function endpointsRemedy({ metadata: { name, namespace } }: Service): NonNullable<Word["remedy"]> {
  return {
    text: "see why none of its endpoints is ready: whether its spec.selector selects pods, and whether they run",
    command: `plumbline get ${EndpointSlice.plural} -n ${namespace} -l kubernetes.io/service-name=${name} -o yaml`,
  };
}

/** Its addresses are of no pool that is in effect: the one that they are from is gone or broken. */
function foreignAddress(service: Service, { sight, metallbNamespace: namespace }: Ground): Blame {
  const name = annotatedPool(service);
  if (name === undefined) return { ownFault: true };
  const thing: Thing = { kind: "IPAddressPool", namespace, name };
  if (sight.get(IPAddressPool, `${namespace}/${name}`)) return { needs: [{ thing }] };
  const message = `IPAddressPool ${name}, which Services have addresses from, does not exist`;
  const remedy = { text: "create it again, with the addresses that it had", change: { thing } };
  return { needs: [{ thing }], said: [standing(thing, { health: "Down", reason: "NotFound", message, ownFault: true, remedy })] };
}

/** Advertisements that would cover its pool are not in effect; or there is none, or none for this Service. */
function uncovered(service: Service, ground: Ground, message: string): Blame {
  const name = /covers pool (\S+)$/.exec(message)?.[1];
  if (name === undefined) return atLarge(service, ground);
  const ads = adsFor(name, ground);
  if (ads.length > 0) return { needs: ads.map((thing) => ({ thing, as: "alternative" })) };
  const thing: Thing = { kind: "IPAddressPool", namespace: ground.metallbNamespace, name };
  const said = standing(thing, {
    health: "Down",
    reason: "NotAdvertised",
    message: `No BGPAdvertisement and no L2Advertisement covers IPAddressPool ${name}: its addresses are handed out, and nobody announces them`,
    ownFault: true,
    remedy: {
      text: `create a BGPAdvertisement or an L2Advertisement with ipAddressPools: [${name}] in namespace ${ground.metallbNamespace}`,
      change: { thing },
    },
  });
  return { said: [said], needs: [{ thing }] };
}

/** Whatever of the configuration has to do with it and is not well; else the Service and its advertisements do not fit together. */
function atLarge(service: Service, ground: Ground): Blame {
  const pool = annotatedPool(service);
  const ads = pool === undefined ? [] : adsFor(pool, ground);
  const peers = pool === undefined ? [] : peersFor(pool, ground);
  const [ad] = ads;
  return {
    needs: [...ads, ...peers].map((thing) => ({ thing, as: "alternative" })),
    remedy: {
      text: "see which Services, nodes and peers the advertisements of its pool select, and what keeps those from announcing it",
      ...(ad && { change: { thing: ad } }),
      command: `plumbline describe service ${service.metadata.name} -n ${service.metadata.namespace}`,
    },
  };
}

interface Selecting {
  readonly ipAddressPools?: string[];
  readonly ipAddressPoolSelectors?: LabelSelector[];
}

function covering<T extends { spec: Selecting; metadata: { namespace?: string } }>(ads: readonly T[], pool: string, ground: Ground): T[] {
  const labels = ground.sight.get(IPAddressPool, `${ground.metallbNamespace}/${pool}`)?.metadata.labels ?? {};
  return ads.filter(({ metadata, spec: { ipAddressPools = [], ipAddressPoolSelectors = [] } }) => {
    if (metadata.namespace !== ground.metallbNamespace) return false;
    const isForAll = ipAddressPools.length === 0 && ipAddressPoolSelectors.length === 0;
    return isForAll || ipAddressPools.includes(pool) || ipAddressPoolSelectors.some((selector) => selects(selector, labels));
  });
}

function adsFor(pool: string, ground: Ground): Thing[] {
  const { sight } = ground;
  return [
    ...covering(sight.all(BGPAdvertisement), pool, ground).map(({ metadata }) => objectOf("BGPAdvertisement", metadata)),
    ...covering(sight.all(L2Advertisement), pool, ground).map(({ metadata }) => objectOf("L2Advertisement", metadata)),
  ];
}

/** The peers that Services of the pool would be announced to. */
function peersFor(pool: string, ground: Ground): Thing[] {
  const ads = covering(ground.sight.all(BGPAdvertisement), pool, ground);
  if (ads.length === 0) return [];
  const isNamed = (name: string) => ads.some(({ spec: { peers = [] } }) => peers.length === 0 || peers.includes(name));
  return ground.sight
    .all(BGPPeer)
    .filter(({ metadata: { name, namespace } }) => namespace === ground.metallbNamespace && isNamed(name))
    .map(({ metadata }) => objectOf("BGPPeer", metadata));
}

function silentNodes(sight: Sight): string[] {
  const silent = sight.all(ConfigurationState).filter(({ status }) => conditionOf(status?.conditions, "Valid")?.reason === "AgentSilent");
  return silent.flatMap((state) => nodeOfReport(state) ?? []);
}
