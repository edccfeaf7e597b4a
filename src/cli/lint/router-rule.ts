import type { LabelSelector } from "../../api/core/label-selector.ts";
import type { KubeObject } from "../../api/kind.ts";
import type { L2VNI } from "../../api/openpe/l2vni.ts";
import type { L3VNI } from "../../api/openpe/l3vni.ts";
import type { Underlay } from "../../api/openpe/underlay.ts";
import type { InterfaceAddress } from "../../ip/interface-address.ts";
import { UNCLEAR_VRF, unclearL2VNIs } from "../../router/dialects/read-objects.ts";
import type { RouterObjects } from "../../router/model/observed.ts";
import { previewNode } from "../../router/preview.ts";
import { farImports } from "../../router/validate/imports.ts";
import { readInterfaceAddress } from "../../router/validate/networks.ts";
import { selectorFieldProblems } from "../../router/validate/selector.ts";
import { type OfflineNode, observeOffline, nodeNamed, nodesOf, routerObjects } from "../router/offline-node.ts";
import type { LintFailure, LintContext, LintWarning } from "./rules.ts";

/** For the given node, for the Nodes among the manifests, or for one imagined node per selector. */
export function routerRule(objects: readonly KubeObject[], context: LintContext): LintFailure[] {
  const found = new Map<string, LintFailure>();
  for (const group of Map.groupBy(objects, ({ metadata }) => metadata.namespace ?? "").values()) {
    const router = routerObjects(group);
    const partial = isPartial(router, objects, context);
    for (const { node, visible } of nodesFor(router, objects, context)) {
      for (const failure of previewNode(observeOffline({ ...node, interfaces: context.interfaces }, visible, group)).failures) {
        if (partial && failure.reason === "DependencyFailed") continue;
        found.set(JSON.stringify([failure.kind, failure.namespace, failure.name, failure.field, failure.message]), failure);
      }
    }
  }
  return [...found.values()];
}

/** References to missing objects, gateways that are likely a mistake, and imports without traffic. */
export function routerWarnings(objects: readonly KubeObject[], context: LintContext = {}): LintWarning[] {
  return [...Map.groupBy(objects, ({ metadata }) => metadata.namespace ?? "")].flatMap(([namespace, group]) => {
    const router = routerObjects(group);
    const secrets = new Set(group.filter(({ kind }) => kind === "Secret").map(({ metadata }) => metadata.name));
    const found = [
      ...router.underlays.flatMap((underlay) => secretsElsewhere(underlay, secrets)),
      ...(isPartial(router, objects, context) ? withoutUnderlay(router) : []),
      ...unclearL2VNIs(router).map(({ metadata }) => ({ kind: "L2VNI", name: metadata.name, field: "spec.vrf", message: UNCLEAR_VRF })),
      ...router.l2vnis.flatMap(anycastGateways),
      ...router.l3vnis.flatMap((l3vni) => importsFromAfar(l3vni, router)),
    ];
    return found.map((warning) => Object.assign({ namespace }, warning));
  });
}

type Remark = Omit<LintWarning, "namespace">;

function secretsElsewhere({ metadata: { name }, spec: { neighbors = [] } }: Underlay, secrets: ReadonlySet<string>): Remark[] {
  return neighbors.flatMap(({ passwordSecret }, nth): Remark[] => {
    if (passwordSecret === undefined || secrets.has(passwordSecret)) return [];
    const message = `Underlay ${name} refers to Secret ${passwordSecret}, which is not in the given files`;
    return [{ kind: "Underlay", name, field: `spec.neighbors[${nth}].passwordSecret`, message }];
  });
}

function withoutUnderlay({ l2vnis, l3vnis, passthroughs }: RouterObjects): Remark[] {
  const dependents: readonly KubeObject[] = [...l2vnis, ...l3vnis, ...passthroughs];
  return dependents.map(({ kind = "", metadata: { name } }) => {
    return { kind, name, field: "", message: `${kind} ${name} needs an Underlay, and none is in the given files` };
  });
}

/** A host may use the subnet-router anycast address, but every router of the subnet answers for it. */
function anycastGateways({ metadata: { name }, spec: { l2gatewayips = [] } }: L2VNI): Remark[] {
  return l2gatewayips.flatMap((text, nth): Remark[] => {
    const reading = readInterfaceAddress("Gateway", text);
    if (!("value" in reading) || !isSubnetRouterAnycast(reading.value)) return [];
    const message = `Gateway ${text} is the subnet-router anycast address of its subnet (RFC 4291); another address is safer`;
    return [{ kind: "L2VNI", name, field: `spec.l2gatewayips[${nth}]`, message }];
  });
}

function importsFromAfar(l3vni: L3VNI, { l3vnis, underlays }: RouterObjects): Remark[] {
  return farImports(l3vni, l3vnis, underlays).map(({ field, message }) => ({
    kind: "L3VNI",
    name: l3vni.metadata.name,
    field,
    message,
  }));
}

function isSubnetRouterAnycast({ address, prefix }: InterfaceAddress): boolean {
  return address.family === 6 && prefix.length < 127 && address.equals(prefix.first);
}

/** Without an Underlay the manifests are only a part of the configuration. */
function isPartial({ underlays }: RouterObjects, objects: readonly KubeObject[], { node }: LintContext): boolean {
  return underlays.length === 0 && (node === undefined || routerObjects(objects).underlays.length > 0);
}

function nodesFor(
  router: RouterObjects,
  objects: readonly KubeObject[],
  { node }: LintContext,
): { node: OfflineNode; visible: RouterObjects }[] {
  if (node !== undefined) return [{ node: nodeNamed(node, objects), visible: router }];
  const described = nodesOf(objects);
  if (described.length > 0) return described.map((one) => ({ node: one, visible: router }));
  return selectorsIn(router).map((selector) => ({ node: { name: "any", labels: {}, index: 0 }, visible: whatSelects(selector, router) }));
}

const textOf = (selector: LabelSelector | undefined) => (isEmpty(selector) ? "" : JSON.stringify(selector));

function isEmpty({ matchLabels = {}, matchExpressions = [] }: LabelSelector = {}): boolean {
  return Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;
}

/** One imagined node per selector: which labels occur together is unknown. */
function selectorsIn(router: RouterObjects): string[] {
  const texts = new Set(allOf(router).map(({ spec }) => textOf(spec.nodeSelector)));
  if (texts.size > 1) texts.delete("");
  return [...texts];
}

function allOf(router: RouterObjects): readonly { spec: { nodeSelector?: LabelSelector } }[] {
  return Object.values(router).flat();
}

/** Includes the objects without a selector. */
function whatSelects(selector: string, router: RouterObjects): RouterObjects {
  const chosen = <T extends { spec: { nodeSelector?: LabelSelector } }>(objects: readonly T[]): T[] =>
    objects.flatMap((object) => {
      const { nodeSelector, ...spec } = object.spec;
      if (!["", selector].includes(textOf(nodeSelector))) return [];
      return selectorFieldProblems(nodeSelector).length > 0 ? [object] : [{ ...object, spec }];
    });
  return {
    underlays: chosen(router.underlays),
    l2vnis: chosen(router.l2vnis),
    l3vnis: chosen(router.l3vnis),
    passthroughs: chosen(router.passthroughs),
    rawConfigs: chosen(router.rawConfigs),
  };
}
