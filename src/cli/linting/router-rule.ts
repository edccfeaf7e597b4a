import type { LabelSelector } from "../../api/core/label-selector.ts";
import type { KubeObject } from "../../api/kind.ts";
import type { InterfaceAddress } from "../../ip/interface-address.ts";
import type { RouterObjects } from "../../router/observed.ts";
import { rendering } from "../../router/planning/rendering.ts";
import { readInterfaceAddress } from "../../router/validate/networks.ts";
import { selectorComplaints } from "../../router/validate/selector.ts";
import { type ImaginedNode, imagine, nodeNamed, nodesOf, routerObjects } from "../routing/imagine.ts";
import type { Failure, LintContext, LintWarning } from "./rules.ts";

/** What the router of a node would say: of the node that is named, of those that are described, or of any. */
export function routerRule(objects: readonly KubeObject[], context: LintContext): Failure[] {
  const found = new Map<string, Failure>();
  const underlays = routerObjects(objects).underlays.length;
  for (const group of Map.groupBy(objects, ({ metadata }) => metadata.namespace ?? "").values()) {
    const router = routerObjects(group);
    // Where there is no Underlay, only a part of the whole is looked at, and what is missing may be somewhere else.
    const partial = router.underlays.length === 0 && (context.node === undefined || underlays > 0);
    for (const { node, seen } of nodesFor(router, objects, context)) {
      for (const failure of rendering(imagine({ ...node, interfaces: context.interfaces }, seen, group)).failures) {
        if (partial && failure.reason === "DependencyFailed") continue;
        found.set(JSON.stringify([failure.kind, failure.namespace, failure.name, failure.field, failure.message]), failure);
      }
    }
  }
  return [...found.values()];
}

/** A host may use the subnet-router anycast address, but every router of the subnet answers for it. */
export function routerWarnings(objects: readonly KubeObject[]): LintWarning[] {
  return routerObjects(objects).l2vnis.flatMap(({ metadata: { name, namespace = "" }, spec: { l2gatewayips = [] } }) =>
    l2gatewayips.flatMap((text, nth): LintWarning[] => {
      const reading = readInterfaceAddress("Gateway", text);
      if (!("value" in reading) || !isSubnetRouterAnycast(reading.value)) return [];
      const message = `Gateway ${text} is the subnet-router anycast address of its subnet (RFC 4291); another address is safer`;
      return [{ kind: "L2VNI", name, namespace, field: `spec.l2gatewayips[${nth}]`, message }];
    }),
  );
}

function isSubnetRouterAnycast({ address, prefix }: InterfaceAddress): boolean {
  return address.family === 6 && prefix.length < 127 && address.equals(prefix.first);
}

function nodesFor(
  router: RouterObjects,
  objects: readonly KubeObject[],
  { node }: LintContext,
): { node: ImaginedNode; seen: RouterObjects }[] {
  if (node !== undefined) return [{ node: nodeNamed(node, objects), seen: router }];
  const described = nodesOf(objects);
  if (described.length > 0) return described.map((one) => ({ node: one, seen: router }));
  return selectorsIn(router).map((selector) => ({ node: { name: "any", labels: {}, index: 0 }, seen: whatSelects(selector, router) }));
}

const textOf = (selector: LabelSelector | undefined) => (isEmpty(selector) ? "" : JSON.stringify(selector));

function isEmpty({ matchLabels = {}, matchExpressions = [] }: LabelSelector = {}): boolean {
  return Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;
}

/** One node for each selector: who knows which labels come together. */
function selectorsIn(router: RouterObjects): string[] {
  const texts = new Set(allOf(router).map(({ spec }) => textOf(spec.nodeSelector)));
  if (texts.size > 1) texts.delete("");
  return [...texts];
}

function allOf(router: RouterObjects): readonly { spec: { nodeSelector?: LabelSelector } }[] {
  return Object.values(router).flat();
}

/** The objects with this selector, and those for every node, as if they were all there were. */
function whatSelects(selector: string, router: RouterObjects): RouterObjects {
  const chosen = <T extends { spec: { nodeSelector?: LabelSelector } }>(objects: readonly T[]): T[] =>
    objects.flatMap((object) => {
      const { nodeSelector, ...spec } = object.spec;
      if (!["", selector].includes(textOf(nodeSelector))) return [];
      return selectorComplaints(nodeSelector).length > 0 ? [object] : [{ ...object, spec }];
    });
  return {
    underlays: chosen(router.underlays),
    l2vnis: chosen(router.l2vnis),
    l3vnis: chosen(router.l3vnis),
    passthroughs: chosen(router.passthroughs),
    rawConfigs: chosen(router.rawConfigs),
  };
}
