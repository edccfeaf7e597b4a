import { crdOf, type CustomResourceDefinition, type StructuralSchema } from "../../api/crds/crd.ts";
import { CUSTOM_KINDS } from "../../api/crds/kinds.ts";
import { MAIN_GROUP, OLD_GROUP } from "../../router/dialects/convert.ts";
import type { MigrationDifference, DifferenceClass } from "./difference.ts";
import type { Inventory, StoredDefinition } from "./inventory.ts";
import { joinFirst } from "../../util/text.ts";

/** Groups of the projects that Plumbline replaces. */
export const THEIR_GROUPS: ReadonlySet<string> = new Set(["metallb.io", "frrk8s.metallb.io", OLD_GROUP, MAIN_GROUP]);
const MOST_FIELDS = 8;

export function definitionDifferences(inventory: Inventory, { replaceStatusCrds }: { replaceStatusCrds: boolean }): MigrationDifference[] {
  return inventory.definitions.flatMap((definition) => {
    const ours = ourDefinition(definition);
    if (ours) return replaced(definition, ours, countOf(definition, inventory), replaceStatusCrds);
    const { group } = definition.spec;
    if (!THEIR_GROUPS.has(group) || (group === MAIN_GROUP && countOf(definition, inventory) > 0)) return [];
    return [definitionDifference(definition, "", "Unused", "Plumbline has no such kind and does not read its objects")];
  });
}

export function ourDefinition({ metadata }: StoredDefinition): CustomResourceDefinition | undefined {
  return CUSTOM_KINDS.map(crdOf).find((crd) => crd.metadata.name === metadata.name);
}

/** Whether its objects are statuses of another program, with another meaning than ours of the same name. */
export function isForeignStatus(definition: StoredDefinition, ours: CustomResourceDefinition): boolean {
  return isStatus(ours) && unknownFields(definition, ours).length > 0;
}

function replaced(
  definition: StoredDefinition,
  ours: CustomResourceDefinition,
  count: number,
  replaceStatusCrds: boolean,
): MigrationDifference[] {
  const found: MigrationDifference[] = [];
  const unknown = unknownFields(definition, ours);
  if (isForeignStatus(definition, ours)) {
    const whose = `Reports of another program, with ${joinFirst(unknown, MOST_FIELDS)}; ${objects(count)} of them`;
    const message = replaceStatusCrds
      ? `${whose}, which lose what Plumbline does not know`
      : `${whose}. --replace-status-crds replaces it with Plumbline's definition`;
    found.push(definitionDifference(definition, "spec.versions", replaceStatusCrds ? "Differs" : "Blocks", message));
  } else if (unknown.length > 0) {
    found.push(definitionDifference(definition, "spec.versions", "Differs", `Plumbline does not know ${joinFirst(unknown, MOST_FIELDS)}`));
  }
  const versions = new Set(ours.spec.versions.map(({ name }) => name));
  for (const stored of definition.status?.storedVersions ?? []) {
    if (versions.has(stored)) continue;
    const message = `Objects are stored as ${stored}, which Plumbline does not serve: store them as ${[...versions].join(" or ")} first`;
    found.push(definitionDifference(definition, "status.storedVersions", "Blocks", message));
  }
  if (definition.spec.conversion?.strategy === "Webhook") {
    const message =
      "Its versions are converted by a webhook, which goes with the program that answers it; here all versions have the same fields";
    found.push(definitionDifference(definition, "spec.conversion", "Differs", message));
  }
  return found;
}

function isStatus(ours: CustomResourceDefinition): boolean {
  return ours.spec.versions.every(({ schema }) => schema.openAPIV3Schema.properties?.["spec"]?.properties === undefined);
}

/** Such as `status.errorSummary`, of the storage version. */
function unknownFields(definition: StoredDefinition, ours: CustomResourceDefinition): string[] {
  const theirs = definition.spec.versions.find(({ storage }) => storage)?.schema.openAPIV3Schema ?? {};
  const known = ours.spec.versions.find(({ storage }) => storage)?.schema.openAPIV3Schema ?? {};
  return ["spec", "status"].flatMap((part) => beyond(theirs.properties?.[part], known.properties?.[part], part));
}

function beyond(theirs: StructuralSchema | undefined, known: StructuralSchema | undefined, path: string): string[] {
  if (theirs === undefined || isEmpty(theirs)) return [];
  if (known === undefined) return [path];
  if (known["x-kubernetes-preserve-unknown-fields"]) return [];
  if (theirs["x-kubernetes-preserve-unknown-fields"]) return [`all fields of ${path}`];
  const { properties = {} } = theirs;
  return [
    ...Object.entries(properties).flatMap(([name, schema]) =>
      known.properties?.[name] ? beyond(schema, known.properties[name], `${path}.${name}`) : [`${path}.${name}`],
    ),
    ...(theirs.items ? beyond(theirs.items, known.items, `${path}[]`) : []),
  ];
}

/** Kubebuilder generates a spec for every kind, even an empty one. */
function isEmpty({ properties = {}, ...rest }: StructuralSchema): boolean {
  return (
    Object.keys(properties).length === 0 &&
    rest.type === "object" &&
    !rest["x-kubernetes-preserve-unknown-fields"] &&
    !rest.additionalProperties
  );
}

export function countOf({ spec }: StoredDefinition, { objects: all }: Inventory): number {
  return all.filter(({ kind, apiVersion = "" }) => kind === spec.names.kind && apiVersion.startsWith(`${spec.group}/`)).length;
}

function objects(count: number): string {
  return count === 1 ? "there is 1" : `there are ${count}`;
}

export function definitionDifference(
  { metadata }: StoredDefinition,
  field: string,
  kind: DifferenceClass,
  message: string,
): MigrationDifference {
  return { kind: "CustomResourceDefinition", name: metadata.name, namespace: "", field, message, class: kind };
}
