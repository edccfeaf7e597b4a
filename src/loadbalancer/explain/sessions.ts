import { BGPSessionStatus } from "../../api/metallb/bgp-session-status.ts";
import { explainer, type Index, type Need, type Sight, type Standing, type Thing } from "../../api/health.ts";
import { addressOf } from "../../ip/address.ts";
import { agentOn, agentSilence } from "../../kube/members/agent-health.ts";
import { nodeOfReport } from "../status/unknown.ts";
import { routerEnds } from "./router-sessions.ts";
import { conditionOf, frrOn, HEALTHY, nodeThing, objectOf, on, partOf, standing, type Word } from "../explaining/things.ts";

type Status = NonNullable<BGPSessionStatus["status"]>;

/** The session of one node with one BGPPeer. */
export const sessions = explainer(BGPSessionStatus, function* (report, sight) {
  const { metadata, status = {} } = report;
  const node = nodeOf(report);
  const { peer, conditions } = status;
  if (!node || !peer || metadata.deletionTimestamp !== undefined) return;
  const object = objectOf("BGPPeer", { ...metadata, name: peer });
  const session = on(node, object);
  const word = wordOf(status, node, metadata.creationTimestamp);
  const reported = conditionOf(conditions, "Reported");

  yield* agentSilence(node, conditions);
  if (reported?.reason === "FRRUnavailable") yield* frrDown(node, reported);
  const isLeftOut = reported?.reason === "NotConfigured";
  const ends = farEnds(status, session, reported?.status === "False" || isDown(status), sight);
  yield* ends.said;
  const others = isDown(status) ? sight.by(byPeer, `${object.namespace ?? ""}/${object.name}`) : [];
  const isDownEverywhere = others.length > 1 && others.every((one) => isDown(one.status ?? {}));
  // One of them speaks for all; what each stands on counts.
  if (isDownEverywhere) yield standing(object, others[0] === report ? noSession(status, others) : HEALTHY, ends.needs);
  // Where FRR does not know the peer, or no node has a session with it, it is not about this node.
  const isPeersFault = isDownEverywhere || isLeftOut;
  yield standing(session, word, [
    { thing: agentOn(node) },
    { thing: frrOn(node) },
    ...ends.needs,
    ...(isPeersFault ? [{ thing: object }] : []),
  ]);
  if (word.health === "Healthy") return;
  if (!isPeersFault) yield partOf(object, session);
  yield partOf(nodeThing(node), session);
});

function nodeOf(report: BGPSessionStatus): string | undefined {
  return nodeOfReport(report) ?? report.status?.node;
}

function isDown({ bgpStatus = "Unknown", conditions }: Status): boolean {
  return conditionOf(conditions, "Reported")?.status !== "Unknown" && bgpStatus !== "Unknown" && bgpStatus !== "Established";
}

function wordOf(status: Status, node: string, created: string | undefined): Word {
  const { bgpStatus = "Unknown", bfdStatus = "N/A", address = "", conditions } = status;
  const reported = conditionOf(conditions, "Reported");
  if (reported?.status === "False" || reported?.status === "Unknown") {
    const { reason, message, lastTransitionTime: since } = reported;
    return { health: reason === "NotConfigured" ? "Down" : "Unknown", reason, message, since };
  }
  // One that was never up is down since it was first told of.
  const moment = status.since ?? created;
  const since = moment === undefined ? {} : { since: moment };
  const who = `${status.peer}${address === "" ? "" : ` at ${address}`}`;
  if (isDown(status)) {
    return {
      health: "Down",
      reason: `Session${bgpStatus}`,
      message: `The session of ${node} with ${who} is ${bgpStatus}, not Established${lastReset(status)}`,
      ...since,
      remedy: peerRemedy(status),
    };
  }
  const isBfdDown = bgpStatus === "Established" && !["N/A", "Up", ""].includes(bfdStatus);
  if (!isBfdDown) return HEALTHY;
  return {
    health: "Degraded",
    reason: "BFDDown",
    message: `The session of ${node} with ${who} is up, and BFD, which is to watch it, is ${bfdStatus}`,
    ...since,
  };
}

function lastReset({ lastResetReason = "" }: Status): string {
  return lastResetReason === "" ? "" : `; it went down last by: ${lastResetReason}`;
}

function peerRemedy({ peer = "", address = "" }: Status): NonNullable<Word["remedy"]> {
  return {
    text: `see whether ${address === "" ? "the peer" : address} is there and expects AS numbers and password as BGPPeer ${peer} has them`,
    command: `plumbline describe bgppeer ${peer} -A`,
  };
}

const byPeer: Index<BGPSessionStatus> = {
  kind: BGPSessionStatus,
  of: ({ metadata: { namespace = "" }, status }) => (status?.peer === undefined ? [] : [`${namespace}/${status.peer}`]),
};

/** What is to be said of a peer that no node has a session with, and several try. */
function noSession(status: Status, all: readonly BGPSessionStatus[]): Word {
  const { peer = "", address = "" } = status;
  const since = all.flatMap((one) => one.status?.since ?? one.metadata.creationTimestamp ?? []).toSorted()[0];
  return {
    health: "Down",
    reason: "NoSession",
    message: `None of the ${all.length} nodes that try has a session with ${peer}${address === "" ? "" : ` at ${address}`}${lastReset(status)}`,
    ...(since !== undefined && { since }),
    remedy: peerRemedy(status),
  };
}

/**
 * Who is at the other end, where that is known. The router of the node itself: while the session is up, all that goes over it needs the router; while it
 * is down, the router tells of the same session, and is to blame only where it has no such session at all.
 */
function farEnds({ address = "" }: Status, session: Thing, down: boolean, sight: Sight): { needs: Need[]; said: Standing[] } {
  const { node = "" } = session;
  const ends = routerEnds(address, node, sight);
  if (ends.length > 0) {
    const told = ends.flatMap((end) => (down && end.session ? [end.session] : []));
    const needs = ends.filter((end) => !down || !end.session).map(({ resource }): Need => ({ thing: resource }));
    return {
      needs: [{ thing: { kind: "FRR", name: "router", node } }, ...needs],
      said: told.map((thing) => ({ thing, domain: "router", health: "Healthy", needs: [{ thing: session }] })),
    };
  }
  const isLink = address !== "" && addressOf(address) === undefined;
  return { needs: isLink ? [{ thing: { kind: "Link", name: address, node } }] : [], said: [] };
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
