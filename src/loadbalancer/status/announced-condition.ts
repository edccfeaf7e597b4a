import { announcedType } from "../../api/core/service.ts";
import { decideBgp } from "../announcement/bgp-decision.ts";
import type { Advertised } from "../announcement/decision.ts";
import type { ElectionInput, L2Elections } from "../announcement/l2-election.ts";
import { isAnnouncedTo } from "../announcement/peers.ts";
import { adsOf, isForNode } from "../announcement/selection.ts";
import type { ConditionReport } from "../../kube/status/conditions.ts";
import type { Config } from "../config/config.ts";
import type { NodeView, ServiceView } from "../services/service-view.ts";
import type { L2Blocker } from "./l2-blocker.ts";
import type { NodeGroup } from "./node-groups.ts";
import type { NotAnnouncedReason, NotDelivered } from "../reasons.ts";
import { whyNotDelivered, type DeliveryEvidence } from "./session-evidence.ts";

export interface AnnouncementInput extends ElectionInput {
  readonly groups: readonly NodeGroup[];
  readonly elections: L2Elections;
  /** Nodes that do not run the current configuration: only their own reports count. */
  readonly doubtful: ReadonlySet<string>;
  /** What the nodes' sessions were seen not to deliver. */
  readonly evidence: DeliveryEvidence;
}

export interface SpeakerStatuses {
  readonly blocker?: L2Blocker | undefined;
  /** The doubtful nodes that announce it over BGP, with their peers. */
  readonly overBgp?: ReadonlyMap<string, readonly string[]>;
  /** The node that announces it over L2. */
  readonly answering?: string | undefined;
}

/** The Announced condition: where the Service is announced, and on how many nodes it is not, and why. `noAddressReason`: why it has no address. */
export function announcedCondition(
  service: ServiceView,
  input: AnnouncementInput,
  noAddressReason: string | undefined,
  statuses: SpeakerStatuses = {},
): ConditionReport {
  if (service.addresses.length === 0) return not("noIPAllocated", noAddressReason ?? "No address to announce");
  const { config, pools, doubtful } = input;
  const pool = pools.poolOfAll(service.addresses);
  const overBgp = (pool && adsOf(config.bgpAds, pool.name).length > 0) || (statuses.overBgp?.size ?? 0) > 0;
  const overL2 = (pool && adsOf(config.l2Ads, pool.name).length > 0) || isIn(doubtful, statuses.answering);
  if (!overBgp && !overL2) {
    return pool
      ? not("noMatchingAdvertisement", uncoveredMessage(pool.name))
      : not("ipNotAllowed", `No active pool contains ${service.addresses.join(", ")}`);
  }
  const bgp = overBgp ? countBgp(service, input, statuses) : undefined;
  const l2 = overL2 ? answerOf(service, input, statuses) : undefined;
  const message = [...(bgp ? [`BGP: ${bgpText(bgp)}`] : []), ...(l2 ? [`L2: ${l2.text}`] : [])].join("; ");
  if (bgp?.announcing || (l2 && !l2.not)) return { type: announcedType, status: "True", reason: "Announced", message };
  if (statuses.blocker && l2?.not === statuses.blocker.reason) return not(l2.not, message);
  const reason = bgp ? commonest(bgp.reasons) : (l2?.not ?? "notOwner");
  return { ...not(reason, message), ...(reason === "notObserved" && { status: "Unknown" }) };
}

/** The condition of a Service of another class without an address. */
export function unservedCondition(loadBalancerClass: string | undefined): ConditionReport {
  const which = loadBalancerClass ? `loadBalancerClass ${loadBalancerClass}` : "Services without loadBalancerClass";
  return not("Unserved", `No controller serves ${which}: the Service has no address`);
}

export function uncoveredMessage(pool: string): string {
  return `No active BGPAdvertisement or L2Advertisement covers pool ${pool}`;
}

interface Answer {
  /** Why no node announces it; undefined: one does. */
  readonly not?: NotAnnouncedReason;
  readonly text: string;
}

function answerOf(service: ServiceView, input: AnnouncementInput, { answering, blocker }: SpeakerStatuses): Answer {
  const election = input.elections.hold(service, input);
  const order = "order" in election ? election.order : [];
  const [elected] = order;
  if (elected !== undefined && elected === blocker?.node) {
    return { not: blocker.reason, text: `${elected} does not announce it: ${blocker.message}` };
  }
  // Only the candidates know which of them receive each other's heartbeats and have a working link.
  const isBelieved = answering !== undefined && (order.includes(answering) || input.doubtful.has(answering));
  const node = isBelieved ? answering : isIn(input.doubtful, elected) ? undefined : elected;
  if (node !== undefined) {
    const others = order.filter((name) => name !== node).length;
    return { text: `${node} announces it${others > 0 ? `, ${others} on standby` : ""}` };
  }
  if ("not" in election) return { not: election.not, text: `no node announces it (${election.not})` };
  return { not: "configurationInvalid", text: `${elected ?? "no node"} is elected but does not announce it (configurationInvalid)` };
}

function isIn(nodes: ReadonlySet<string>, node: string | undefined): boolean {
  return node !== undefined && nodes.has(node);
}

interface BgpCount {
  announcing: number;
  readonly reasons: Map<NotAnnouncedReason, number>;
}

function countBgp(service: ServiceView, input: AnnouncementInput, { overBgp }: SpeakerStatuses): BgpCount {
  const { groups, doubtful, isAlive } = input;
  const count: BgpCount = { announcing: 0, reasons: new Map() };
  const add = (reason: NotAnnouncedReason | undefined, nodes: number) => {
    if (reason === undefined) count.announcing += nodes;
    else count.reasons.set(reason, (count.reasons.get(reason) ?? 0) + nodes);
  };
  for (const group of groups) {
    if (!isAlive(group[0].name)) {
      add("speakerNotReporting", group.length);
      continue;
    }
    const doubted = doubtful.size === 0 ? [] : group.filter(({ name }) => doubtful.has(name));
    const certain = doubted.length === 0 ? group : group.filter(({ name }) => !doubtful.has(name));
    for (const [representative, nodes] of parts(certain, service)) add(reasonNot(service, representative, input), nodes);
    for (const node of doubted) {
      const peers = overBgp?.get(node.name);
      add(peers ? reasonNotReported(service, node, peers, input) : (reasonNot(service, node, input) ?? "configurationInvalid"), 1);
    }
  }
  return count;
}

/** Why the node does not announce it, by the configuration and by what its sessions deliver. */
function reasonNot(service: ServiceView, node: NodeView, { config, pools, evidence }: AnnouncementInput): NotAnnouncedReason | undefined {
  const decision = decideBgp(service, node, config, pools);
  if ("not" in decision) return decision.not;
  const ways = decision.announce
    .map((one) => ({ prefix: one.prefix, peers: audienceOf(one, node, config) }))
    .filter(({ peers }) => peers.length > 0);
  if (ways.length === 0) return "noPeers";
  const sessions = evidence.get(node.name);
  if (!sessions) return undefined;
  // An address has a way to its clients if one of its prefixes is delivered.
  const byFamily = Map.groupBy(ways, ({ prefix }) => prefix.first.family).values();
  return byFamily.map((family) => firstReason(family.map(({ prefix, peers }) => whyNotDelivered(sessions, peers, prefix)))).find(isReason);
}

/** The same for a node that reports itself to whom it announces. */
function reasonNotReported(
  { addresses }: ServiceView,
  node: NodeView,
  peers: readonly string[],
  { evidence }: AnnouncementInput,
): NotAnnouncedReason | undefined {
  return addresses.map((address) => whyNotDelivered(evidence.get(node.name), peers, address)).find(isReason);
}

/** undefined where one of them is. */
function firstReason(reasons: readonly (NotDelivered | undefined)[]): NotDelivered | undefined {
  return reasons.every(isReason) ? reasons[0] : undefined;
}

function isReason(reason: NotDelivered | undefined): reason is NotDelivered {
  return reason !== undefined;
}

function audienceOf(advertised: Advertised, node: NodeView, { peers }: Config): string[] {
  return [...peers.values()].filter((peer) => isForNode(peer, node) && isAnnouncedTo(advertised, peer)).map(({ name }) => name);
}

/** One node per group with the size of the group. With local endpoints only, nodes with an endpoint form their own group. */
function parts(group: readonly NodeView[], { local, endpoints }: ServiceView): [NodeView, number][] {
  const halves = local
    ? [group.filter(({ name }) => endpoints.nodes.has(name)), group.filter(({ name }) => !endpoints.nodes.has(name))]
    : [group];
  return halves.flatMap((half): [NodeView, number][] => (half[0] ? [[half[0], half.length]] : []));
}

function bgpText({ announcing, reasons }: BgpCount): string {
  const others = [...reasons].sort(byCount).map(([reason, nodes]) => `${nodes} not (${reason})`);
  if (announcing === 0 && others.length === 0) return "no nodes";
  return [`${announcing} ${announcing === 1 ? "node announces" : "nodes announce"} it`, ...others].join(", ");
}

function commonest(reasons: ReadonlyMap<NotAnnouncedReason, number>): NotAnnouncedReason {
  return [...reasons].sort(byCount)[0]?.[0] ?? "notOwner";
}

function byCount([a, many]: [string, number], [b, few]: [string, number]): number {
  return few - many || (a < b ? -1 : 1);
}

function not(reason: NotAnnouncedReason, message: string): ConditionReport {
  return { type: announcedType, status: "False", reason, message };
}
