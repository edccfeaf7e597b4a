import { BGPSessionStatus } from "../../api/metallb/bgp-session-status.ts";
import { L3Passthrough } from "../../api/openpe/l3passthrough.ts";
import { L3VNI } from "../../api/openpe/l3vni.ts";
import { explainer, type Index, type Need, type Sight, type Standing, type Thing } from "../../api/standing.ts";
import { addressOf } from "../../ip/address.ts";
import { IpError } from "../../ip/error.ts";
import { parseMaskedPrefix } from "../../ip/prefix.ts";
import { agentOn, agentSilence } from "../../kube/members/agent-standing.ts";
import { nodeOfReport } from "../report/silent.ts";
import { conditionOf, frrOn, HEALTHY, nodeThing, objectOf, on, partOf, standing, type Word } from "./things.ts";

type Status = NonNullable<BGPSessionStatus["status"]>;

/** The session of one node with one BGPPeer. */
export const sessions = explainer(BGPSessionStatus, function* ({ metadata, status = {} }, sight) {
  const node = nodeOfReport({ metadata }) ?? status.node;
  const { peer } = status;
  if (node === undefined || peer === undefined || metadata.deletionTimestamp !== undefined) return;
  const object = objectOf("BGPPeer", { ...metadata, name: peer });
  const session = on(node, object);
  const word = wordOf(status);
  const isLeftOut = conditionOf(status.conditions, "Reported")?.reason === "NotConfigured";

  yield* agentSilence(node, status.conditions);
  yield* frrSilence(node, status);
  yield standing(session, word, [
    { thing: agentOn(node) },
    { thing: frrOn(node) },
    ...farEnds(status, node, sight),
    // What is wrong with a peer that FRR does not know is wrong with the peer, and else with the session.
    ...(isLeftOut ? [{ thing: object }] : []),
  ]);
  if (word.health === "Healthy") return;
  if (!isLeftOut) yield partOf(object, session);
  yield partOf(nodeThing(node), session);
});

function wordOf(status: Status): Word {
  const { bgpStatus = "Unknown", bfdStatus = "N/A", address = "", lastResetReason, conditions } = status;
  const reported = conditionOf(conditions, "Reported");
  if (reported?.status === "False" || reported?.status === "Unknown") {
    const { reason, message, lastTransitionTime: since } = reported;
    return { health: reason === "NotConfigured" ? "Down" : "Unknown", reason, message, since };
  }
  const since = status.since === undefined ? {} : { since: status.since };
  const who = `${status.peer}${address === "" ? "" : ` at ${address}`}`;
  if (bgpStatus !== "Established") {
    const why = lastResetReason === undefined || lastResetReason === "" ? "" : `; it went down last by: ${lastResetReason}`;
    return {
      // One that was never said to be anything has only just been asked for.
      health: bgpStatus === "Unknown" ? "Unknown" : "Down",
      reason: `Session${bgpStatus}`,
      message: `The session of ${status.node} with ${who} is ${bgpStatus}, not Established${why}`,
      ...since,
      remedy: {
        text: `see whether ${address === "" ? "the peer" : address} is there and expects AS numbers and password as BGPPeer ${status.peer} has them`,
        command: `plumbline describe bgppeer ${status.peer} -A`,
      },
    };
  }
  if (bfdStatus !== "N/A" && bfdStatus !== "Up" && bfdStatus.toLowerCase() !== "unknown") {
    const message = `The session of ${status.node} with ${who} is up, and its BFD is ${bfdStatus}`;
    return { health: "Degraded", reason: "BFDDown", message, ...since };
  }
  return HEALTHY;
}

function* frrSilence(node: string, { conditions }: Status): Iterable<Standing> {
  const reported = conditionOf(conditions, "Reported");
  if (reported?.reason === "FRRUnavailable") yield* frrDown(node, reported);
}

export function* frrDown(
  node: string,
  { message, lastTransitionTime: since }: { message: string; lastTransitionTime: string },
): Iterable<Standing> {
  const thing = frrOn(node);
  yield standing(
    thing,
    {
      health: "Down",
      reason: "FRRUnavailable",
      message: `The load balancer's FRR on node ${node}: ${message}`,
      since,
      remedy: {
        text: `see whether the daemons of FRR instance plumbline-lb run on node ${node}: in a cluster in the pod of DaemonSet plumbline-frr there`,
        command: `plumbline describe configurationstate speaker-${node} -A`,
      },
    },
    [{ thing: agentOn(node) }],
  );
  yield partOf(nodeThing(node), thing);
}

/** The router of the node itself, where the session leads to it: at its end of the link with the host. */
function farEnds({ address = "" }: Status, node: string, sight: Sight): Need[] {
  if (address === "") return [];
  const routed: Thing[] = [
    ...sight.by(l3vnisByRouterEnd, address).map(({ metadata }) => objectOf("L3VNI", metadata)),
    ...sight.by(passthroughsByRouterEnd, address).map(({ metadata }) => objectOf("L3Passthrough", metadata)),
  ];
  if (routed.length > 0) return [{ thing: { kind: "FRR", name: "router", node } }, ...routed.map((thing) => ({ thing: on(node, thing) }))];
  // Whoever is at the other end of an unnumbered session.
  return addressOf(address) === undefined ? [{ thing: { kind: "Link", name: address, node } }] : [];
}

const l3vnisByRouterEnd: Index<L3VNI> = { kind: L3VNI, of: ({ spec }) => routerEnds(spec.hostsession) };
const passthroughsByRouterEnd: Index<L3Passthrough> = { kind: L3Passthrough, of: ({ spec }) => routerEnds(spec.hostsession) };

type HostSession = NonNullable<L3VNI["spec"]["hostsession"]>;

function routerEnds(session: HostSession | undefined): string[] {
  const { ipv4 = "", ipv6 = "" } = session?.localcidr ?? {};
  return [ipv4, ipv6].flatMap(routerEnd);
}

/** The router's end of the link is the same on every node. A network address that ends in a zero byte is left out. */
function routerEnd(text: string): string[] {
  if (text === "") return [];
  try {
    const { first } = parseMaskedPrefix(text);
    const end = first.plus(first.value % 256n === 0n ? 1n : 0n);
    return end ? [end.toString()] : [];
  } catch (error) {
    if (error instanceof IpError) return [];
    throw error;
  }
}
