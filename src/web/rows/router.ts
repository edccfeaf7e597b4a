import { keyOf, parseKey } from "../../api/kind.ts";
import { L2VNI } from "../../api/openpe/l2vni.ts";
import { L3VNI } from "../../api/openpe/l3vni.ts";
import { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import { type Health, componentId } from "../../api/health.ts";
import { vrfOfL2VNI } from "../../router/dialects/read-objects.ts";
import { type RowBuilder, rowKey, type BuildContext } from "./row-builder.ts";
import type { RouterRow, RouterDetailData, TreeNode } from "../api.ts";
import { conditionsOf, namespaceIn, definedFields } from "./fields.ts";

type Status = NonNullable<RouterNodeConfigurationStatus["status"]>;
type Resource = NonNullable<Status["resources"]>[number];

const MAX_FAILED = 3;

export const routers: RowBuilder<"router"> = {
  view: "router",
  type: "router",
  kind: RouterNodeConfigurationStatus,
  rowOf: (report: RouterNodeConfigurationStatus) => keyOf(report),
  build: routerRow,
  of: (key) => [{ kind: RouterNodeConfigurationStatus, ...namespaceIn(key) }],
};

function routerRow(key: string, context: BuildContext): RouterRow | undefined {
  const report = context.get(RouterNodeConfigurationStatus, key);
  if (!report) return undefined;
  const { metadata, status = {} } = report;
  const { resources = [], sessions = [], vnis = [], failedResources = [], conditions = [] } = status;
  const ready = conditions.find(({ type }) => type === "Ready");
  const cell = context.cell("router", metadata.name);
  const health = cell?.health ?? (ready?.status === "True" ? "Healthy" : ready?.status === "False" ? "Down" : "Unknown");
  return {
    type: "router",
    key: rowKey("router", key),
    id: componentId({ kind: "RouterNodeConfigurationStatus", ...parseKey(key) }),
    node: metadata.name,
    health,
    ...(ready && ready.status !== "True" && definedFields({ reason: ready.reason, message: ready.message })),
    ...definedFields({ since: cell?.since ?? (health === "Healthy" ? undefined : ready?.lastTransitionTime) }),
    resources: { applied: resources.filter(({ state }) => state === "Applied").length, total: resources.length },
    sessions: { up: sessions.filter(({ state }) => state === "Established").length, total: sessions.length },
    vnis: { up: vnis.filter(({ state }) => state === "Up").length, total: vnis.length },
    failed: failedResources.slice(0, MAX_FAILED).map(({ kind, name, reason }) => ({ kind, name, reason })),
  };
}

export function routerDetail(key: string, context: BuildContext): RouterDetailData | undefined {
  const row = routerRow(key, context);
  const report = context.get(RouterNodeConfigurationStatus, key);
  if (!row || !report) return undefined;
  const { name: node } = report.metadata;
  const { sessions = [], vnis = [], conditions } = report.status ?? {};
  return {
    type: "router",
    key: row.key,
    row,
    conditions: conditionsOf(conditions),
    tree: treeOf(report, context),
    sessions: sessions.map(({ vrf, neighbor, state, since }) => {
      const id = componentId({ kind: "Session", name: vrf === "default" ? neighbor : `${vrf}/${neighbor}`, node });
      const health = context.verdict(id)?.health ?? healthIn(state, "Established");
      return definedFields({ id, vrf, neighbor, state, health, since });
    }),
    vnis: vnis.map(({ vni, type, vrf, state, message, macs, vteps, prefixes }) =>
      definedFields({ vni, type, vrf, state, message, health: healthIn(state, "Up"), macs, vteps, prefixes }),
    ),
  };
}

function healthIn(state: string, good: string): Health {
  if (state === good) return "Healthy";
  return state === "Unknown" ? "Unknown" : "Down";
}

/** L2VNIs below the Underlay, each L3VNI below the first live L2VNI of its VRF. */
function treeOf({ metadata, status = {} }: RouterNodeConfigurationStatus, context: BuildContext): TreeNode[] {
  const { namespace = "", name: node } = metadata;
  const { resources = [], failedResources = [] } = status;
  const of = (...kinds: Resource["kind"][]) => resources.filter(({ kind }) => kinds.includes(kind));
  const leaf = ({ kind, name, state }: Resource, children: readonly TreeNode[] = []): TreeNode => {
    const id = componentId({ kind, namespace, name, node });
    const failure = failedResources.find((failed) => failed.kind === kind && failed.name === name);
    const { reason, message, field } = failure ?? {};
    const health = context.verdict(id)?.health ?? (state === "Applied" ? "Healthy" : state === "Failed" ? "Down" : "Degraded");
    return { id, kind, name, state, health, ...definedFields({ reason, message, field }), children };
  };
  const vrfOfL2 = ({ name }: Resource) => {
    const l2vni = context.get(L2VNI, `${namespace}/${name}`);
    return l2vni && vrfOfL2VNI(l2vni);
  };
  const vrfOfL3 = ({ name }: Resource) => context.get(L3VNI, `${namespace}/${name}`)?.spec.vrf;
  const carriers = new Map<string | undefined, Resource>();
  for (const l2vni of of("L2VNI")) if (l2vni.state !== "Failed" && !carriers.has(vrfOfL2(l2vni))) carriers.set(vrfOfL2(l2vni), l2vni);
  const carrierOf = (l3vni: Resource) => carriers.get(vrfOfL3(l3vni) ?? "");
  const carriedBy = (l2vni: Resource) => of("L3VNI").filter((l3vni) => carrierOf(l3vni) === l2vni);
  const overlay = [
    ...of("L2VNI").map((l2vni) =>
      leaf(
        l2vni,
        carriedBy(l2vni).map((one) => leaf(one)),
      ),
    ),
    ...of("L3VNI")
      .filter((l3vni) => !carrierOf(l3vni))
      .map((one) => leaf(one)),
    ...of("L3Passthrough").map((one) => leaf(one)),
  ];
  const [own, ...others] = of("Underlay").toSorted((one, other) => Number(one.state === "Failed") - Number(other.state === "Failed"));
  const trunk = own ? [leaf(own, overlay)] : overlay;
  return [...trunk, ...others.map((one) => leaf(one)), ...of("RawFRRConfig").map((one) => leaf(one))];
}
