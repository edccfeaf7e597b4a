import { decideBgp } from "../announcement/bgp-decision.ts";
import type { Advertised, NotAnnounced } from "../announcement/decision.ts";
import type { ElectionGround, Elections } from "../announcement/l2-election.ts";
import { goesTo } from "../announcement/peers.ts";
import { adsOf, isForNode } from "../announcement/selection.ts";
import type { ConditionReport } from "../../kube/status/conditions.ts";
import type { Config } from "../config/config.ts";
import type { NodeView, ServiceView } from "../services/service-view.ts";
import type { Hindrance } from "./l2-blocker.ts";
import type { NodeGroup } from "./node-groups.ts";

export const announcedType = "metallb.io/Announced";

/** What it takes to tell where a Service is announced. */
export interface Landscape extends ElectionGround {
  readonly groups: readonly NodeGroup[];
  readonly elections: Elections;
  /** Nodes that run on other configuration than what is written: of these only they themselves know. */
  readonly doubtful: ReadonlySet<string>;
}

/** What nodes say of a Service themselves. */
export interface Said {
  /** What keeps the elected one from answering. */
  readonly hindrance?: Hindrance | undefined;
  /** The doubtful ones that announce it over BGP. */
  readonly overBgp?: ReadonlySet<string>;
  /** Who answers for it. */
  readonly answering?: string | undefined;
}

type Reason = NotAnnounced | Hindrance["reason"] | "speakerSilent" | "noPeers" | "configurationInvalid";

/** Where the Service is announced, and on how many nodes it is not, and why. `refusal`: why it has no address. */
export function announcedCondition(
  service: ServiceView,
  landscape: Landscape,
  refusal: string | undefined,
  said: Said = {},
): ConditionReport {
  if (service.addresses.length === 0) return not("noIPAllocated", refusal ?? "There is no address to announce");
  const { config, pools, doubtful } = landscape;
  const pool = pools.poolOfAll(service.addresses);
  const overBgp = (pool && adsOf(config.bgpAds, pool.name).length > 0) || (said.overBgp?.size ?? 0) > 0;
  const overL2 = (pool && adsOf(config.l2Ads, pool.name).length > 0) || isIn(doubtful, said.answering);
  if (!overBgp && !overL2) {
    return pool
      ? not("noMatchingAdvertisement", `No BGPAdvertisement and no L2Advertisement that is in effect covers pool ${pool.name}`)
      : not("ipNotAllowed", `${service.addresses.join(", ")} is not of one pool that is in effect`);
  }
  const bgp = overBgp ? countBgp(service, landscape, said) : undefined;
  const l2 = overL2 ? answerOf(service, landscape, said) : undefined;
  const message = [...(bgp ? [`BGP: ${bgpWords(bgp)}`] : []), ...(l2 ? [`L2: ${l2.words}`] : [])].join("; ");
  if (bgp?.announcing || (l2 && !l2.not)) return { type: announcedType, status: "True", reason: "Announced", message };
  if (said.hindrance && l2?.not === said.hindrance.reason) return not(l2.not, message);
  return not(bgp ? commonest(bgp.reasons) : (l2?.not ?? "notOwner"), message);
}

interface Answer {
  /** Why no node answers; undefined: one does. */
  readonly not?: Reason;
  readonly words: string;
}

function answerOf(service: ServiceView, landscape: Landscape, { answering, hindrance }: Said): Answer {
  const election = landscape.elections.hold(service, landscape);
  const order = "order" in election ? election.order : [];
  const [elected] = order;
  if (elected !== undefined && elected === hindrance?.node) {
    return { not: hindrance.reason, words: `${elected} does not answer for it: ${hindrance.message}` };
  }
  // Which of the candidates hear each other, and which have a link that works, only they know.
  const isBelieved = answering !== undefined && (order.includes(answering) || landscape.doubtful.has(answering));
  const node = isBelieved ? answering : isIn(landscape.doubtful, elected) ? undefined : elected;
  if (node !== undefined) {
    const others = order.filter((name) => name !== node).length;
    return { words: `${node} answers for it${others > 0 ? `, ${others} more could` : ""}` };
  }
  if ("not" in election) return { not: election.not, words: `no node answers for it (${election.not})` };
  return { not: "configurationInvalid", words: `${elected ?? "no node"} is elected and does not answer for it (configurationInvalid)` };
}

function isIn(nodes: ReadonlySet<string>, node: string | undefined): boolean {
  return node !== undefined && nodes.has(node);
}

interface BgpCount {
  announcing: number;
  readonly reasons: Map<Reason, number>;
}

function countBgp(service: ServiceView, landscape: Landscape, { overBgp }: Said): BgpCount {
  const { groups, doubtful, isAlive } = landscape;
  const count: BgpCount = { announcing: 0, reasons: new Map() };
  const add = (reason: Reason | undefined, nodes: number) => {
    if (reason === undefined) count.announcing += nodes;
    else count.reasons.set(reason, (count.reasons.get(reason) ?? 0) + nodes);
  };
  for (const group of groups) {
    if (!isAlive(group[0].name)) {
      add("speakerSilent", group.length);
      continue;
    }
    const doubted = doubtful.size === 0 ? [] : group.filter(({ name }) => doubtful.has(name));
    const certain = doubted.length === 0 ? group : group.filter(({ name }) => !doubtful.has(name));
    for (const [representative, nodes] of parts(certain, service)) add(reasonNot(service, representative, landscape), nodes);
    for (const node of doubted)
      add(overBgp?.has(node.name) ? undefined : (reasonNot(service, node, landscape) ?? "configurationInvalid"), 1);
  }
  return count;
}

/** Why the node does not announce it, as far as that follows from what is written. */
function reasonNot(service: ServiceView, node: NodeView, { config, pools }: Landscape): Reason | undefined {
  const decision = decideBgp(service, node, config, pools);
  if ("not" in decision) return decision.not;
  return reachesAnyone(decision.announce, node, config) ? undefined : "noPeers";
}

function reachesAnyone(advertised: readonly Advertised[], node: NodeView, { peers }: Config): boolean {
  return peers.values().some((peer) => isForNode(peer, node) && advertised.some((one) => goesTo(one, peer)));
}

/** One node of each part, and how many it stands for: where only local endpoints count, those that have one are not as the others. */
function parts(group: readonly NodeView[], { local, endpoints }: ServiceView): [NodeView, number][] {
  const halves = local
    ? [group.filter(({ name }) => endpoints.nodes.has(name)), group.filter(({ name }) => !endpoints.nodes.has(name))]
    : [group];
  return halves.flatMap((half): [NodeView, number][] => (half[0] ? [[half[0], half.length]] : []));
}

function bgpWords({ announcing, reasons }: BgpCount): string {
  const others = [...reasons].sort(byCount).map(([reason, nodes]) => `${nodes} not (${reason})`);
  if (announcing === 0 && others.length === 0) return "there is no node";
  return [`${announcing} ${announcing === 1 ? "node announces" : "nodes announce"} it`, ...others].join(", ");
}

function commonest(reasons: ReadonlyMap<Reason, number>): Reason {
  return [...reasons].sort(byCount)[0]?.[0] ?? "notOwner";
}

function byCount([a, many]: [string, number], [b, few]: [string, number]): number {
  return few - many || (a < b ? -1 : 1);
}

function not(reason: Reason, message: string): ConditionReport {
  return { type: announcedType, status: "False", reason, message };
}
