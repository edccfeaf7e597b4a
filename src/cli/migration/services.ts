import type { Service } from "../../api/core/service.ts";
import { keyOf } from "../../api/kind.ts";
import { AddressAssigner } from "../../loadbalancer/controller/address-assigner.ts";
import { loadConfig } from "../../loadbalancer/config/load.ts";
import { nodesOf } from "../router/offline-node.ts";
import type { MigrationDifference } from "./difference.ts";
import type { Inventory } from "./inventory.ts";
import { labeled, objectsIn } from "../../loadbalancer/config/objects.ts";

const ANNOTATION = /^metallb\.(io|universe\.tf)\/(.*)$/;
const READ = new Set(["address-pool", "loadBalancerIPs", "allow-shared-ip", "ip-allocated-from-pool"]);

/** Addresses that Services would lose (there should be none), and annotations that Plumbline ignores. */
export function serviceDifferences(
  inventory: Inventory,
  { metallbNamespace, lbClass }: { metallbNamespace: string; lbClass?: string },
): MigrationDifference[] {
  const assigner = new AddressAssigner({ lbClass, onWake: () => undefined, onPool: () => undefined });
  assigner.configure(
    loadConfig(configuration(inventory, metallbNamespace), { view: { of: "controller" }, lastGood: new Map(), now: new Date() }),
  );
  assigner.claimAll(inventory.services);
  return inventory.services.flatMap((service) => [...unreadAnnotations(service), ...movedAddresses(service, assigner)]);
}

function movedAddresses(service: Service, assigner: AddressAssigner): MigrationDifference[] {
  const before = (service.status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => ip ?? []);
  if (before.length === 0) return [];
  const { wanted, unmet } = assigner.decide(service);
  const after = wanted?.addresses.map(String);
  if (after === undefined || after.toSorted().join() === before.toSorted().join()) return [];
  const why = unmet === undefined ? "" : `: ${unmet.message}`;
  const message = `The Service would lose ${before.join(" and ")} and get ${after.length === 0 ? "no address" : after.join(" and ")}${why}`;
  return [difference(service, "status.loadBalancer.ingress", "Blocks", message)];
}

function unreadAnnotations(service: Service): MigrationDifference[] {
  return Object.keys(service.metadata.annotations ?? {}).flatMap((key) => {
    const [, , name] = ANNOTATION.exec(key) ?? [];
    if (name === undefined || READ.has(name)) return [];
    return [difference(service, `metadata.annotations[${key}]`, "Differs", "Plumbline does not read this annotation")];
  });
}

function configuration({ objects, nodes, namespaces }: Inventory, namespace: string) {
  const inNamespace = objects.filter(({ metadata }) => metadata.namespace === namespace);
  return {
    ...objectsIn(inNamespace),
    namespaces: labeled(namespaces),
    nodes: nodesOf(nodes),
    secret: () => undefined,
  };
}

function difference(service: Service, field: string, what: "Blocks" | "Differs", message: string): MigrationDifference {
  const [namespace = "", name = ""] = keyOf(service).split("/");
  return { kind: "Service", name, namespace, field, message, class: what };
}
