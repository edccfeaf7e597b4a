import { apiAnnotation } from "../../api/annotations.ts";
import { isObject, type JsonObject } from "../../api/admission/value.ts";
import { groupOf, type KubeObject } from "../../api/kind.ts";
import type { L2VNI } from "../../api/openpe/l2vni.ts";
import type { Underlay } from "../../api/openpe/underlay.ts";
import type { ApiDialect } from "../model/specs.ts";
import { readL2VNI } from "./read-objects.ts";
import { type FieldLoss, type Respelled, respell } from "./respell.ts";
import { OLD_GROUP_EXTENSIONS, V01_TO_V02, V02_TO_MAIN } from "./spellings.ts";

/** The versions of OpenPERouter that have other fields; main is its main branch. */
export type ApiTarget = ApiDialect | "main";

export const OLD_GROUP = "openpe.openperouter.github.io";
export const MAIN_GROUP = "network.openperouter.io";

export interface Converted {
  /** Missing if the target has no such kind. */
  readonly object?: KubeObject;
  /** What the target cannot express, by the field of the original; empty for the object as a whole. */
  readonly losses: readonly FieldLoss[];
}

/** Finds the object whose VRF an L2VNI belongs to, and back. */
export interface RoutingDomains {
  vrfOf(namespace: string, kind: string, name: string): string | undefined;
  ownersOf(namespace: string, vrf: string): readonly { readonly kind: string; readonly name: string }[];
}

export function isRouterObject({ apiVersion, kind = "" }: KubeObject): boolean {
  return [OLD_GROUP, MAIN_GROUP].includes(groupOf(apiVersion)) && Object.hasOwn(V02_TO_MAIN, kind);
}

/** Writes an object of the router as another version of OpenPERouter writes it. */
export function convert(object: KubeObject, to: ApiTarget, domains: RoutingDomains): Converted {
  const { kind = "" } = object;
  const losses: FieldLoss[] = [];
  let originalOf = itself;
  let spec = (object as { spec?: unknown }).spec;
  const follow = (step: Respelled) => {
    const before = originalOf;
    losses.push(...step.losses.map(({ field, message }) => ({ field: before(`spec.${field}`), message })));
    originalOf = (field) => before(`spec.${step.originalOf(field.slice("spec.".length))}`);
    spec = step.value;
  };
  const lose = (field: string, message: string) => losses.push({ field, message });

  const isMain = groupOf(object.apiVersion) === MAIN_GROUP;
  const disconnected = kind === "L2VNI" && !isMain && readL2VNI(object as L2VNI).spec.disconnected === true;
  if (!isMain && to !== "main") follow(respell(spec, OLD_GROUP_EXTENSIONS[kind] ?? [], "older", to));
  if (isMain && to !== "main") {
    follow(respell(withVrf(object, spec, domains, lose), V02_TO_MAIN[kind] ?? [], "older", "v0.2"));
  }
  if (to === "v0.1") {
    const known = V01_TO_V02[kind];
    if (!known) return { losses: [{ field: "", message: `v0.1 has no kind ${kind}` }] };
    if (disconnected || (isMain && kind === "L2VNI" && !vrfIn(spec))) {
      lose(isMain ? "spec.routingDomain" : "spec.vrf", "In v0.1 an L2VNI without a VRF is in one of its own name");
    }
    follow(respell(spec, known, "older", "v0.1"));
    if (kind === "Underlay") losses.push(...rejectedByV01(spec).map(({ field, message }) => ({ field: originalOf(field), message })));
  } else if (!isMain) {
    follow(respell(spec, V01_TO_V02[kind] ?? [], "newer", "v0.2"));
    if (kind === "L2VNI" && !disconnected && !vrfIn(spec)) spec = { vrf: object.metadata.name, ...(spec as object) };
    if (to === "main") follow(respell(withRoutingDomain(object, spec, domains, lose), V02_TO_MAIN[kind] ?? [], "newer", "main"));
  }
  const unclear = to === "v0.2" && kind === "L2VNI" && !vrfIn(spec);
  const group = to === "main" ? MAIN_GROUP : OLD_GROUP;
  return {
    object: {
      apiVersion: `${group}/v1alpha1`,
      kind,
      metadata: metadataOf(object, unclear ? { [apiAnnotation]: "v0.2" } : {}),
      spec,
    } as KubeObject,
    losses,
  };
}

function itself(field: string): string {
  return field;
}

function vrfIn(spec: unknown): unknown {
  return isObject(spec) ? spec["vrf"] : undefined;
}

/** What only Plumbline accepts with the fields of v0.1. */
function rejectedByV01(spec: unknown): FieldLoss[] {
  const { asn, nics = [], neighbors = [] } = spec as Partial<Underlay["spec"]>;
  const more = nics.slice(1).map((_, nth) => ({
    field: `spec.nics[${nth + 1}]`,
    message: "v0.1 rejects an Underlay with more than one interface",
  }));
  const internal = neighbors.flatMap((neighbor, nth) =>
    neighbor.asn === undefined || neighbor.asn !== asn
      ? []
      : { field: `spec.neighbors[${nth}].asn`, message: "v0.1 rejects a neighbor with the AS number of the Underlay" },
  );
  return [...more, ...internal];
}

type LoseField = (field: string, message: string) => void;

/** An L2VNI of main refers to the object that has the VRF. */
function withRoutingDomain({ kind, metadata }: KubeObject, spec: unknown, domains: RoutingDomains, lose: LoseField): unknown {
  const vrf = vrfIn(spec);
  if (kind !== "L2VNI" || !isObject(spec) || typeof vrf !== "string") return spec;
  const rest = Object.fromEntries(Object.entries(spec).filter(([name]) => name !== "vrf"));
  const owners = domains.ownersOf(metadata.namespace ?? "", vrf);
  const [owner] = owners;
  if (!owner) lose("spec.vrf", `main refers to the L3VNI of VRF ${vrf}, and none is among these objects`);
  if (owners.length > 1) lose("spec.vrf", `main refers to one L3VNI, and VRF ${vrf} has ${owners.map(({ name }) => name).join(", ")}`);
  if (!owner) return rest;
  return { routingDomain: { type: owner.kind, [owner.kind.toLowerCase()]: { name: owner.name } }, ...rest };
}

function withVrf({ kind, metadata }: KubeObject, spec: unknown, domains: RoutingDomains, lose: LoseField): unknown {
  if (kind !== "L2VNI" || !isObject(spec) || !isObject(spec["routingDomain"])) return spec;
  const { routingDomain, ...rest } = spec as JsonObject & { routingDomain: Record<string, unknown> };
  const type = String(routingDomain["type"]);
  const { name = "" } = (routingDomain[type.toLowerCase()] ?? {}) as { name?: string };
  const vrf = domains.vrfOf(metadata.namespace ?? "", type, name);
  if (vrf === undefined) lose("spec.routingDomain", `${type} ${name} is not among these objects`);
  return vrf === undefined ? rest : { vrf, ...rest };
}

const DROPPED = new Set([apiAnnotation, "kubectl.kubernetes.io/last-applied-configuration"]);

/** Without what the server of another object wrote. */
function metadataOf({ metadata }: KubeObject, more: Readonly<Record<string, string>>): KubeObject["metadata"] {
  const { name, namespace, labels, annotations = {} } = metadata;
  const kept = { ...Object.fromEntries(Object.entries(annotations).filter(([key]) => !DROPPED.has(key))), ...more };
  return {
    name,
    ...(namespace !== undefined && { namespace }),
    ...(labels && { labels }),
    ...(Object.keys(kept).length > 0 && { annotations: kept }),
  };
}

export function routingDomains(objects: readonly KubeObject[]): RoutingDomains {
  const owners = objects.flatMap((object) => {
    const { kind = "", metadata } = object;
    const vrf = vrfIn((object as { spec?: unknown }).spec);
    if (!["L3VNI", "L3VPN"].includes(kind) || typeof vrf !== "string" || !isRouterObject(object)) return [];
    return [{ kind, name: metadata.name, namespace: metadata.namespace ?? "", vrf }];
  });
  return {
    vrfOf: (namespace, kind, name) => owners.find((one) => one.namespace === namespace && one.kind === kind && one.name === name)?.vrf,
    ownersOf: (namespace, vrf) => owners.filter((one) => one.namespace === namespace && one.vrf === vrf),
  };
}
