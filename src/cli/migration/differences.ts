import type { KubeObject } from "../../api/kind.ts";
import { configurationDifferences } from "./configuration.ts";
import { definitionDifferences } from "./definitions.ts";
import { CLASSES, type MigrationDifference } from "./difference.ts";
import { programDifferences } from "./programs.ts";
import type { Inventory } from "./inventory.ts";
import { serviceDifferences } from "./services.ts";

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
          "There is no memberlist here: who is alive the controller publishes, and it makes the key of the agents' heartbeats",
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
