import { keyOf, parseKey } from "../../api/kind.ts";
import { BGPPeer } from "../../api/metallb/bgp-peer.ts";
import { BGPSessionStatus } from "../../api/metallb/bgp-session-status.ts";
import { L2VNI } from "../../api/openpe/l2vni.ts";
import { L3VNI } from "../../api/openpe/l3vni.ts";
import { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import { Underlay } from "../../api/openpe/underlay.ts";
import { componentId, type Health } from "../../api/health.ts";
import { printRanges } from "../../router/probes/overlay-map.ts";
import { type BuildContext, type RowBuilder, rowKey } from "./row-builder.ts";
import type { FabricSession, PeersRow, TopologyRow, VniRow } from "../api.ts";
import { definedFields, namespaceIn } from "./fields.ts";
import { sessions, sessionsRow } from "./loadbalancer.ts";

type Status = NonNullable<RouterNodeConfigurationStatus["status"]>;

export const topology: readonly RowBuilder<"topology">[] = [
  {
    view: "topology",
    type: "router",
    kind: RouterNodeConfigurationStatus,
    rowOf: (report: RouterNodeConfigurationStatus) => keyOf(report),
    build: topologyRow,
    of: (key) => [{ kind: RouterNodeConfigurationStatus, ...namespaceIn(key) }],
  },
  {
    view: "topology",
    type: "peers",
    kind: BGPSessionStatus,
    rowOf: sessions.rowOf,
    build: peersRow,
    of: (key) => [
      { kind: BGPSessionStatus, ...namespaceIn(key) },
      { kind: BGPPeer, ...namespaceIn(key) },
    ],
  },
  ...[L2VNI, L3VNI].map((kind): RowBuilder<"topology"> => ({
    view: "topology",
    type: "vni",
    kind,
    rowOf: (object: L2VNI | L3VNI) => `${kind.kind}/${keyOf(object)}`,
    build: (name, context) => vniRow(kind, name, context),
    of: (name) => [{ kind, ...namespaceIn(name.slice(kind.kind.length + 1)) }],
  })),
];

function topologyRow(key: string, context: BuildContext): TopologyRow | undefined {
  const report = context.get(RouterNodeConfigurationStatus, key);
  if (!report) return undefined;
  const { name: node } = report.metadata;
  const { vnis = [], overlay } = report.status ?? {};
  const cell = context.cell("router", node);
  const down = vnis.filter(({ state }) => state !== "Up");
  return {
    type: "router",
    key: rowKey("router", key),
    id: componentId({ kind: "RouterNodeConfigurationStatus", ...parseKey(key) }),
    node,
    health: cell?.health ?? "Unknown",
    ...definedFields({ since: cell?.since, vtep: overlay?.vtep }),
    sessions: fabricSessions(report, context),
    vnis: ranges(vnis),
    ...definedFields({ vnisDown: ranges(down) }),
    ...(overlay && { overlay: overlayOf(report.status ?? {}) }),
  };
}

const ranges = (vnis: readonly { vni: number }[]) => printRanges(vnis.map(({ vni }) => vni).toSorted((one, other) => one - other));

/** The sessions of the default VRF with neighbors of an Underlay: the others are with the host. */
function fabricSessions({ metadata, status = {} }: RouterNodeConfigurationStatus, context: BuildContext): FabricSession[] {
  const { namespace = "", name: node } = metadata;
  const { resources = [], sessions = [] } = status;
  const own = sessions.filter(({ vrf }) => vrf === "default");
  const underlays = resources.flatMap(({ kind, name }) =>
    kind === "Underlay" ? (context.get(Underlay, `${namespace}/${name}`) ?? []) : [],
  );
  const neighbors = new Set(underlays.flatMap(({ spec }) => (spec.neighbors ?? []).map(({ address, interface: link }) => address ?? link)));
  const named = own.filter(({ neighbor }) => neighbors.has(neighbor));
  // An edited Underlay may still run its last good version, with other neighbors.
  return (named.length > 0 ? named : own).map(({ neighbor, state, since }) => {
    const id = componentId({ kind: "Session", name: neighbor, node });
    const health = context.verdict(id)?.health ?? (state === "Established" ? "Healthy" : "Down");
    return definedFields({ id, neighbor, state, health, since });
  });
}

function overlayOf({ overlay, conditions = [] }: Status): NonNullable<TopologyRow["overlay"]> {
  const { probed = 0, failing = [] } = overlay ?? {};
  const { status, lastTransitionTime: since } = conditions.find(({ type }) => type === "OverlayReachable") ?? {};
  const health: Health = status === "True" ? "Healthy" : status === "False" ? "Down" : "Unknown";
  return {
    health,
    probed,
    ...(health !== "Healthy" && definedFields({ since })),
    failing: failing.map(({ node, reason, vnis, message }) => definedFields({ node, reason, vnis, message })),
  };
}

function peersRow(key: string, context: BuildContext): PeersRow | undefined {
  const row = sessionsRow(key, context);
  if (!row) return undefined;
  const { namespace = "" } = parseKey(key);
  const sessions = Object.entries(row.peers).map(([peer, { id, bgp, health, since }]) => {
    const { peerAddress, interface: link } = context.get(BGPPeer, `${namespace}/${peer}`)?.spec ?? {};
    return definedFields({ id, neighbor: peerAddress || link || peer, state: bgp, health, since });
  });
  return { type: "peers", key: rowKey("peers", key), node: row.node, sessions };
}

function vniRow(kind: typeof L2VNI | typeof L3VNI, name: string, context: BuildContext): VniRow | undefined {
  const object = context.get<L2VNI | L3VNI>(kind, name.slice(kind.kind.length + 1));
  if (object?.spec.vni === undefined) return undefined;
  const layer = kind === L2VNI ? "L2" : "L3";
  return { type: "vni", key: rowKey("vni", name), vni: object.spec.vni, layer, name: object.metadata.name };
}
