import { decideBgp } from "../announce/bgp.ts";
import type { Advertised, NotAnnounced } from "../announce/decision.ts";
import type { Election, ElectionGround, Elections } from "../announce/elections.ts";
import { goesTo } from "../announce/peers.ts";
import { adsOf, isForNode } from "../announce/selection.ts";
import type { ConditionReport } from "../../kube/status/conditions.ts";
import type { Config } from "../config/config.ts";
import type { NodeView, ServiceView } from "../services/service-view.ts";
import type { Hindrance } from "./hindrance.ts";
import type { NodeGroup } from "./node-groups.ts";

export const announcedType = "metallb.io/Announced";

/** What it takes to tell where a Service is announced. */
export interface Landscape extends ElectionGround {
  readonly groups: readonly NodeGroup[];
  readonly elections: Elections;
}

type Reason = NotAnnounced | Hindrance["reason"] | "speakerSilent" | "noPeers";

/** Where the Service is announced, and on how many nodes it is not, and why. `refusal`: why it has no address. `hindrance`: of the node that was elected. */
export function announcedCondition(
  service: ServiceView,
  landscape: Landscape,
  refusal: string | undefined,
  hindrance?: Hindrance,
): ConditionReport {
  if (service.addresses.length === 0) return not("noIPAllocated", refusal ?? "There is no address to announce");
  const { config, pools } = landscape;
  const pool = pools.poolOfAll(service.addresses);
  if (!pool) return not("ipNotAllowed", `${service.addresses.join(", ")} is not of one pool that is in effect`);
  const [overBgp, overL2] = [adsOf(config.bgpAds, pool.name).length > 0, adsOf(config.l2Ads, pool.name).length > 0];
  if (!overBgp && !overL2) {
    return not("noMatchingAdvertisement", `No BGPAdvertisement and no L2Advertisement that is in effect covers pool ${pool.name}`);
  }
  const bgp = overBgp ? countBgp(service, landscape) : undefined;
  const l2 = overL2 ? landscape.elections.hold(service, landscape) : undefined;
  const elected = l2 && "order" in l2 ? l2.order[0] : undefined;
  const hindered = elected !== undefined && elected === hindrance?.node ? hindrance : undefined;
  const message = [...(bgp ? [`BGP: ${bgpWords(bgp)}`] : []), ...(l2 ? [`L2: ${l2Words(l2, hindered)}`] : [])].join("; ");
  const isAnswered = elected !== undefined && !hindered;
  if (bgp?.announcing || isAnswered) return { type: announcedType, status: "True", reason: "Announced", message };
  if (hindered) return not(hindered.reason, message);
  return not(bgp ? commonest(bgp.reasons) : l2 && "not" in l2 ? l2.not : "notOwner", message);
}

interface BgpCount {
  announcing: number;
  readonly reasons: Map<Reason, number>;
}

function countBgp(service: ServiceView, { config, pools, groups, isAlive }: Landscape): BgpCount {
  const count: BgpCount = { announcing: 0, reasons: new Map() };
  const add = (reason: Reason, nodes: number) => {
    if (nodes > 0) count.reasons.set(reason, (count.reasons.get(reason) ?? 0) + nodes);
  };
  for (const group of groups) {
    if (!isAlive(group[0].name)) {
      add("speakerSilent", group.length);
      continue;
    }
    for (const [representative, nodes] of parts(group, service)) {
      const decision = decideBgp(service, representative, config, pools);
      if ("not" in decision) add(decision.not, nodes);
      else if (!reachesAnyone(decision.announce, representative, config)) add("noPeers", nodes);
      else count.announcing += nodes;
    }
  }
  return count;
}

function reachesAnyone(advertised: readonly Advertised[], node: NodeView, { peers }: Config): boolean {
  return peers.values().some((peer) => isForNode(peer, node) && advertised.some((one) => goesTo(one, peer)));
}

/** One node of each part, and how many it stands for: where only local endpoints count, those that have one are not as the others. */
function parts(group: NodeGroup, { local, endpoints }: ServiceView): [NodeView, number][] {
  if (!local) return [[group[0], group.length]];
  const near = group.filter(({ name }) => endpoints.nodes.has(name));
  const [first] = near;
  const far = group.length - near.length > 0 ? group.find(({ name }) => !endpoints.nodes.has(name)) : undefined;
  return [
    ...(first ? [[first, near.length] as [NodeView, number]] : []),
    ...(far ? [[far, group.length - near.length] as [NodeView, number]] : []),
  ];
}

function bgpWords({ announcing, reasons }: BgpCount): string {
  const others = [...reasons].sort(byCount).map(([reason, nodes]) => `${nodes} not (${reason})`);
  if (announcing === 0 && others.length === 0) return "there is no node";
  return [`${announcing} ${announcing === 1 ? "node announces" : "nodes announce"} it`, ...others].join(", ");
}

function l2Words(election: Election, hindrance: Hindrance | undefined): string {
  if ("not" in election) return `no node answers for it (${election.not})`;
  if (hindrance) return `${hindrance.node} does not answer for it: ${hindrance.message}`;
  const others = election.order.length - 1;
  return `${election.order[0]} answers for it${others > 0 ? `, ${others} more could` : ""}`;
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
