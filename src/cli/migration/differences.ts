import { groupOf, type KubeObject } from "../../api/kind.ts";
import { MAIN_GROUP, convert, OLD_GROUP, routingDomains } from "../../router/dialects/convert.ts";
import { definitionDifferences, countOf, definitionDifference } from "./definitions.ts";
import { CLASSES, type MigrationDifference, type DifferenceClass } from "./difference.ts";
import { programDifferences } from "./programs.ts";
import type { Inventory, StoredDefinition } from "./inventory.ts";
import { serviceDifferences } from "./services.ts";
import { LINT_RULES, LINT_WARNING_RULES } from "../lint/rules.ts";
import { validateManifest } from "../manifests/schema-rules.ts";
import { isObject } from "../../api/admission/value.ts";
import { NETWORK_KINDS } from "../../api/crds/kinds.ts";
import { routerObjects } from "../router/offline-node.ts";
import { plural } from "../../util/text.ts";

export interface MigrationOptions {
  readonly metallbNamespace: string;
  readonly routerNamespace: string;
  readonly lbClass?: string;
  /** Whether statuses of another program may lose fields that Plumbline does not have. */
  readonly replaceStatusCrds: boolean;
}

/** Blockers first, then by kind and name. */
export function differences(inventory: Inventory, moving: MigrationOptions): MigrationDifference[] {
  const order = Object.keys(CLASSES);
  return [
    ...definitionDifferences(inventory, moving),
    ...programDifferences(inventory),
    ...versionDifferences(inventory),
    ...configurationDifferences(inventory, moving),
    ...serviceDifferences(inventory, moving),
    ...leftOvers(inventory),
  ].toSorted(
    (a, b) =>
      order.indexOf(a.class) - order.indexOf(b.class) ||
      `${a.kind} ${a.namespace} ${a.name}`.localeCompare(`${b.kind} ${b.namespace} ${b.name}`),
  );
}

function leftOvers({ configMaps, secrets }: Inventory): MigrationDifference[] {
  return [
    ...configMaps
      .filter(({ metadata }) => metadata.name.endsWith("excludel2"))
      .map((map) =>
        ofObject(
          "ConfigMap",
          map,
          "data",
          "Differs",
          "Its list as MetalLB ships it is built in; changes to it are not read: name the interfaces in the L2Advertisements",
        ),
      ),
    ...secrets
      .filter(({ metadata }) => metadata.name.endsWith("memberlist"))
      .map((secret) =>
        ofObject(
          "Secret",
          secret,
          "",
          "Unused",
          "Plumbline does not use memberlist: the controller publishes which agents are alive and the keys of their heartbeats",
        ),
      ),
  ];
}

function ofObject(
  kind: string,
  { metadata }: KubeObject,
  field: string,
  what: MigrationDifference["class"],
  message: string,
): MigrationDifference {
  return { kind, name: metadata.name, namespace: metadata.namespace ?? "", field, message, class: what };
}

const CONFIGURATION = new Set([
  "Underlay",
  "L2VNI",
  "L3VNI",
  "L3Passthrough",
  "RawFRRConfig",
  "IPAddressPool",
  "BGPPeer",
  "BFDProfile",
  "BGPAdvertisement",
  "L2Advertisement",
  "Community",
]);

/** Unknown fields, rejected objects and objects without effect. */
function configurationDifferences(
  inventory: Inventory,
  namespaces: { metallbNamespace: string; routerNamespace: string },
): MigrationDifference[] {
  const found: MigrationDifference[] = [];
  const admitted: KubeObject[] = [...withKind("Node", inventory.nodes), ...withKind("Namespace", inventory.namespaces)];
  for (const object of inventory.objects.filter(
    ({ kind = "", apiVersion }) => CONFIGURATION.has(kind) && groupOf(apiVersion) !== MAIN_GROUP,
  )) {
    const stray = strayed(object, namespaces);
    if (stray !== undefined) {
      found.push(difference(object, "metadata.namespace", "Differs", stray));
      continue;
    }
    const judgment = validateManifest(object);
    for (const { reason, field, message } of judgment.complaints) {
      found.push(
        difference(
          object,
          field,
          reason === "UnknownField" ? "Differs" : "Blocks",
          reason === "UnknownField" ? `${message}; it is dropped` : message,
        ),
      );
    }
    if (judgment.admitted) admitted.push(judgment.admitted);
  }
  for (const failure of LINT_RULES.flatMap((rule) => rule(admitted, namespaces))) found.push({ ...pick(failure), class: "Blocks" });
  for (const warning of LINT_WARNING_RULES.flatMap((warner) => warner(admitted, namespaces)))
    found.push({ ...pick(warning), class: "Differs" });
  return found;
}

function strayed(
  { apiVersion = "", metadata }: KubeObject,
  { metallbNamespace, routerNamespace }: { metallbNamespace: string; routerNamespace: string },
) {
  const wanted = apiVersion.startsWith("metallb.io/") ? metallbNamespace : routerNamespace;
  if (metadata.namespace === wanted) return undefined;
  const option = wanted === metallbNamespace ? "--metallb-namespace" : "--router-namespace";
  return `It has no effect here: configuration is read in namespace ${wanted}, or where ${option} says`;
}

function withKind(kind: string, objects: readonly KubeObject[]): KubeObject[] {
  return objects.map((object) => ({ apiVersion: "v1", ...object, kind }));
}

function pick({ kind, name, namespace, field, message }: Omit<MigrationDifference, "class">): Omit<MigrationDifference, "class"> {
  return { kind, name, namespace, field, message };
}

function difference({ kind = "", metadata }: KubeObject, field: string, what: DifferenceClass, message: string): MigrationDifference {
  return { kind, name: metadata.name, namespace: metadata.namespace ?? "", field, message, class: what };
}

/** Which versions of OpenPERouter the router's objects are written for, and what converting those of main would lose. */
function versionDifferences(inventory: Inventory): MigrationDifference[] {
  return inventory.definitions.flatMap((definition) => {
    const { group, names } = definition.spec;
    const count = countOf(definition, inventory);
    if (count === 0 || names.kind === "RouterNodeConfigurationStatus") return [];
    if (group === OLD_GROUP) return [olderVersions(definition, inventory)];
    return group === MAIN_GROUP ? ofMain(definition, inventory, count) : [];
  });
}

function olderVersions(definition: StoredDefinition, inventory: Inventory): MigrationDifference {
  const own = objectsOf(definition, inventory);
  const read = routerObjects(own);
  const newer = [...read.underlays, ...read.l2vnis, ...read.l3vnis].filter(({ reading }) => reading?.api === "v0.2").length;
  const message =
    newer === 0
      ? `${plural(own.length, "object")}, without fields of v0.2`
      : `${plural(own.length, "object")}, ${newer} of them with fields of v0.2`;
  return definitionDifference(definition, "", "Version", message);
}

function ofMain(definition: StoredDefinition, inventory: Inventory, count: number): MigrationDifference[] {
  const domains = routingDomains(inventory.objects);
  const lost = objectsOf(definition, inventory).flatMap((object) => {
    const { kind = "", metadata } = object;
    const { name, namespace = "" } = metadata;
    const { admitted, complaints } = validateManifest(object, NETWORK_KINDS);
    const { losses } = admitted ? convert(object, "v0.2", domains) : { losses: [] };
    return [...complaints, ...losses].map(({ field, message }): MigrationDifference => {
      return { kind, name, namespace, field, message: `Lost in the conversion to v0.2: ${message}`, class: "Differs" };
    });
  });
  return [
    definitionDifference(definition, "", "Version", `${plural(count, "object")} of OpenPERouter's main branch`),
    definitionDifference(
      definition,
      "spec.group",
      "Blocks",
      `Plumbline does not read ${MAIN_GROUP}: convert its objects with plumbline migrate convert --to v0.2`,
    ),
    ...lost,
  ];
}

function objectsOf({ spec }: StoredDefinition, { objects }: Inventory): KubeObject[] {
  return objects.filter(
    (object) =>
      object.kind === spec.names.kind && groupOf(object.apiVersion) === spec.group && isObject((object as { spec?: unknown }).spec),
  );
}
