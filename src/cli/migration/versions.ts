import { isObject } from "../../api/admission/value.ts";
import { NETWORK_KINDS } from "../../api/crds/kinds.ts";
import { groupOf, type KubeObject } from "../../api/kind.ts";
import { convert, MAIN_GROUP, OLD_GROUP, routingDomains } from "../../router/dialects/convert.ts";
import { validateManifest } from "../manifests/schema-rules.ts";
import { routerObjects } from "../router/offline-node.ts";
import { countOf, definitionDifference } from "./definitions.ts";
import type { MigrationDifference } from "./difference.ts";
import type { Inventory, StoredDefinition } from "./inventory.ts";
import { plural } from "../../util/text.ts";

/** Which versions of OpenPERouter the router's objects are written for, and what converting those of main would lose. */
export function versionDifferences(inventory: Inventory): MigrationDifference[] {
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
