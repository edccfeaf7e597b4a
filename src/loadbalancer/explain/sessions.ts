import { Service } from "../../api/core/service.ts";
import { BGPSessionStatus } from "../../api/metallb/bgp-session-status.ts";
import { explainer, type Index, type Dependency, type ObjectReader, type HealthStatement, type Component } from "../../api/health.ts";
import { addressOf } from "../../ip/address.ts";
import { agentComponent, agentHealth } from "../../kube/members/agent-health.ts";
import { readService } from "../services/service-view.ts";
import { isAddressMissing, parseRuns } from "../status/missing-prefixes.ts";
import { hostLinks, routerEnd } from "../status/own-router.ts";
import { nodeOfReport } from "../status/unknown.ts";
import { conditionOf, frrOn, HEALTHY, nodeComponent, objectOf, on, partOf, statement, type StatementBody } from "./components.ts";
import { L3Passthrough } from "../../api/openpe/l3passthrough.ts";
import { L3VNI } from "../../api/openpe/l3vni.ts";
import { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import type { Prefix } from "../../ip/prefix.ts";

type Status = NonNullable<BGPSessionStatus["status"]>;

export const sessions = explainer(BGPSessionStatus, function* (report, reader) {
  const { metadata, status = {} } = report;
  const node = nodeOf(report);
  const { peer, conditions } = status;
  if (!node || !peer || metadata.deletionTimestamp !== undefined) return;
  const object = objectOf("BGPPeer", { ...metadata, name: peer });
  const session = on(node, object);
  const body = sessionBody(status, node, metadata.creationTimestamp);
  const reported = conditionOf(conditions, "Reported");

  yield* agentHealth(node, conditions);
  if (reported?.reason === "FRRUnavailable") yield* frrDown(node, reported);
  const isLeftOut = reported?.reason === "NotConfigured";
  const ends = farEnds(status, session, reported?.status === "False" || isDown(status), reader);
  yield* ends.statements;
  const others = isDown(status) ? reader.by(byPeer, `${object.namespace ?? ""}/${object.name}`) : [];
  const isDownEverywhere = others.length > 1 && others.every((one) => isDown(one.status ?? {}));
  // One of them reports for all; the dependencies of each count.
  if (isDownEverywhere) yield statement(object, others[0] === report ? noSession(status, others) : HEALTHY, ends.dependencies);
  // Where FRR does not know the peer, or no node has a session with it, it is not about this node.
  const isPeersFault = isDownEverywhere || isLeftOut;
  yield statement(session, body, [
    { component: agentComponent(node) },
    { component: frrOn(node) },
    ...ends.dependencies,
    ...(isPeersFault ? [{ component: object }] : []),
  ]);
  yield* notSent(status, session, reader);
  if (body.health === "Healthy") return;
  if (!isPeersFault) yield partOf(object, session);
  yield partOf(nodeComponent(node), session);
});

function nodeOf(report: BGPSessionStatus): string | undefined {
  return nodeOfReport(report) ?? report.status?.node;
}

function isDown({ bgpStatus = "Unknown", conditions }: Status): boolean {
  return conditionOf(conditions, "Reported")?.status !== "Unknown" && bgpStatus !== "Unknown" && bgpStatus !== "Established";
}

function sessionBody(status: Status, node: string, created: string | undefined): StatementBody {
  const { bgpStatus = "Unknown", bfdStatus = "N/A", address = "", conditions } = status;
  const reported = conditionOf(conditions, "Reported");
  if (reported?.status === "False" || reported?.status === "Unknown") {
    const { reason, message, lastTransitionTime: since } = reported;
    return { health: reason === "NotConfigured" ? "Down" : "Unknown", reason, message, since };
  }
  // A session that was never up is down since its status was created.
  const moment = status.since ?? created;
  const since = moment === undefined ? {} : { since: moment };
  const who = `${status.peer}${address === "" ? "" : ` at ${address}`}`;
  if (isDown(status)) {
    const isRejected = Boolean(status.rejection);
    return {
      health: "Down",
      reason: isRejected ? "RejectedByPeer" : `Session${bgpStatus}`,
      message: `BGP session of ${node} with ${who} is ${bgpStatus}, not Established${whyDown(status)}`,
      ...since,
      fix: isRejected ? rejectionFix(status) : peerFix(status),
    };
  }
  const isBfdDown = bgpStatus === "Established" && !["N/A", "Up", ""].includes(bfdStatus);
  if (!isBfdDown) return HEALTHY;
  return {
    health: "Degraded",
    reason: "BFDDown",
    message: `BGP session of ${node} with ${who} is up, but BFD is ${bfdStatus}`,
    ...since,
  };
}

function whyDown({ lastResetReason = "", rejection = "" }: Status): string {
  if (rejection !== "") return `; the peer closed it: ${rejection}`;
  return lastResetReason === "" ? "" : `; last reset: ${lastResetReason}`;
}

function rejectionFix({ peer = "", address = "", rejection = "" }: Status): NonNullable<StatementBody["fix"]> {
  const text = rejection.includes("Maximum Number of Prefixes")
    ? `raise maximum-prefix for this node on ${address === "" ? "the peer" : address}, or announce fewer prefixes with aggregationLength, then clear the session there`
    : `check on ${address === "" ? "the peer" : address} why it closes the session with this node`;
  return { text, command: `plumbline describe bgppeer ${peer} -A` };
}

/** What a session that is up does not send: the Services of these prefixes have one way less to their clients. */
function* notSent(status: Status, session: Component, reader: ObjectReader): Iterable<HealthStatement> {
  const { node = "" } = session;
  const missing = (status.prefixes ?? []).flatMap((family) => family.missing ?? []);
  if (status.bgpStatus !== "Established" || missing.length === 0) return;
  const [count, wanted] = (status.prefixes ?? []).reduce(([out, all], one) => [out + one.wanted - one.sent, all + one.wanted], [0, 0]);
  const component: Component = { ...session, kind: "SentPrefixes" };
  const who = `${status.peer}${status.address ? ` at ${status.address}` : ""}`;
  const names = missing.length > NAMED ? `${missing.slice(0, NAMED).join(", ")} and others` : missing.join(", ");
  yield statement(
    component,
    {
      health: "Down",
      reason: "PrefixesNotSent",
      message: `${node} does not send ${count} of ${wanted} prefixes to ${who}: ${names}`,
      fix: {
        text: "check what filters them: route maps of this peer in ConfigMap bgpextras, the address family at the peer",
        command: `plumbline routes ${(missing[0] ?? "").split("-")[0]} --node ${node}`,
      },
    },
    [{ component: session, as: "part" }],
  );
  yield partOf(nodeComponent(node), component);
  const runs = parseRuns(missing);
  for (const service of reader.all(Service)) {
    if (service.spec.type !== "LoadBalancer") continue;
    const isAffected = readService(service, []).addresses.some((address) => isAddressMissing(runs, address));
    if (isAffected) yield partOf(on(node, objectOf("Service", service.metadata)), component);
  }
}

/** More are not named. */
const NAMED = 5;

function peerFix({ peer = "", address = "" }: Status): NonNullable<StatementBody["fix"]> {
  return {
    text: `check that ${address === "" ? "the peer" : address} is reachable and uses the AS numbers and password of BGPPeer ${peer}`,
    command: `plumbline describe bgppeer ${peer} -A`,
  };
}

const byPeer: Index<BGPSessionStatus> = {
  kind: BGPSessionStatus,
  of: ({ metadata: { namespace = "" }, status }) => (status?.peer === undefined ? [] : [`${namespace}/${status.peer}`]),
};

/** No node has a session with this peer, although several try. */
function noSession(status: Status, all: readonly BGPSessionStatus[]): StatementBody {
  const { peer = "", address = "" } = status;
  const since = all.flatMap((one) => one.status?.since ?? one.metadata.creationTimestamp ?? []).toSorted()[0];
  return {
    health: "Down",
    reason: "NoSession",
    message: `No node of ${all.length} has a BGP session with ${peer}${address === "" ? "" : ` at ${address}`}${whyDown(status)}`,
    ...(since !== undefined && { since }),
    fix: peerFix(status),
  };
}

/**
 * The other end of the session, if known. The node's own router: while the session is up, everything over it depends on the router; while
 * it is down, the router reports the same session, and is the cause only if it has no such session.
 */
function farEnds(
  { address = "" }: Status,
  session: Component,
  down: boolean,
  reader: ObjectReader,
): { dependencies: Dependency[]; statements: HealthStatement[] } {
  const { node = "" } = session;
  const ends = routerSessions(address, node, reader);
  if (ends.length > 0) {
    const downSessions = ends.flatMap((end) => (down && end.session ? [end.session] : []));
    const dependencies = ends.filter((end) => !down || !end.session).map(({ resource }): Dependency => ({ component: resource }));
    return {
      dependencies: [{ component: { kind: "FRR", name: "router", node } }, ...dependencies],
      statements: downSessions.map((component) => ({
        component,
        domain: "router",
        health: "Healthy",
        dependencies: [{ component: session }],
      })),
    };
  }
  const isLink = address !== "" && addressOf(address) === undefined;
  return { dependencies: isLink ? [{ component: { kind: "Link", name: address, node } }] : [], statements: [] };
}

export function* frrDown(
  node: string,
  { message, lastTransitionTime: since }: { message: string; lastTransitionTime: string },
): Iterable<HealthStatement> {
  const component = frrOn(node);
  yield statement(
    component,
    {
      health: "Down",
      reason: "FRRUnavailable",
      message: `Load balancer FRR on node ${node}: ${message}`,
      since,
      fix: {
        text: `check that the FRR daemons of instance plumbline-lb run on node ${node} (in a cluster: the pod of DaemonSet plumbline-frr)`,
        command: `plumbline describe configurationstate speaker-${node} -A`,
      },
    },
    [{ component: agentComponent(node) }],
  );
  yield partOf(nodeComponent(node), component);
}

/** The router's end of the session between the load balancer and the router of one node. */
interface RouterSession {
  /** The resource on the node that configures it. */
  readonly resource: Component;
  /** The same session in the router's status; undefined if it has none. */
  readonly session: Component | undefined;
}

function routerSessions(address: string, node: string, reader: ObjectReader): RouterSession[] {
  if (addressOf(address) === undefined) return [];
  const ends = [
    ...reader.by(vnisByEnd, address).map(({ metadata, spec }) => ({ component: objectOf("L3VNI", metadata), vrf: spec.vrf, spec })),
    ...reader
      .by(passthroughsByEnd, address)
      .map(({ metadata, spec }) => ({ component: objectOf("L3Passthrough", metadata), vrf: "default", spec })),
  ];
  return ends.map(({ component, vrf, spec }) => {
    const links = hostLinks(spec.hostsession);
    const observed = reader.get(RouterNodeConfigurationStatus, `${component.namespace}/${node}`)?.status?.sessions ?? [];
    const session = observed.find((one) => one.vrf === vrf && links.some((link) => contains(link, one.neighbor)));
    const name = session && (vrf === "default" ? session.neighbor : `${vrf}/${session.neighbor}`);
    return { resource: on(node, component), session: name === undefined ? undefined : { kind: "Session", name, node } };
  });
}

const vnisByEnd: Index<L3VNI> = { kind: L3VNI, of: ({ spec }) => hostLinks(spec.hostsession).flatMap(routerEnd) };
const passthroughsByEnd: Index<L3Passthrough> = { kind: L3Passthrough, of: ({ spec }) => hostLinks(spec.hostsession).flatMap(routerEnd) };

function contains(link: Prefix, neighbor: string): boolean {
  const address = addressOf(neighbor);
  return address !== undefined && link.contains(address);
}
