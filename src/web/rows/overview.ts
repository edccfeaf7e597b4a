import { Node } from "../../api/core/node.ts";
import { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { Service } from "../../api/core/service.ts";
import { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import { type Domain, type Health, worseHealth } from "../../api/health.ts";
import type { Cause } from "../../explain/answer.ts";
import type { ConfigNamespaces } from "../../explain/explainers.ts";
import { type FixedRowBuilder, type RowBuilder, type KindInNamespace, rowKey, type BuildContext } from "./row-builder.ts";
import { type CauseRow, type MatrixCellRow, type DomainRow, type NodeRow, MAX_SYMPTOMS } from "../api.ts";
import { definedFields, reasonFields } from "./fields.ts";

const DOMAINS: readonly Domain[] = ["router", "loadbalancer", "failover", "connectivity", "cluster"];

/** The permissions that the counts of a domain require. */
export function domainRefs({ routerNamespace, metallbNamespace }: ConfigNamespaces): Readonly<Record<Domain, readonly KindInNamespace[]>> {
  return {
    router: [{ kind: RouterNodeConfigurationStatus, namespace: routerNamespace }],
    loadbalancer: [{ kind: ConfigurationState, namespace: metallbNamespace }, { kind: Service }],
    failover: [{ kind: FailoverPolicy }],
    connectivity: [{ kind: PodNetworkConnectivityCheck }],
    cluster: [{ kind: Node }],
  };
}

export const nodes: RowBuilder<"overview"> = {
  view: "overview",
  type: "node",
  kind: Node,
  rowOf: ({ metadata }: Node) => metadata.name,
  build: nodeRow,
  of: () => [{ kind: Node }],
};

export function domains(namespaces: ConfigNamespaces): FixedRowBuilder<"overview"> {
  const refs = domainRefs(namespaces);
  return { view: "overview", type: "domain", names: DOMAINS, build: domainRow, of: (domain) => refs[domain as Domain] };
}

function nodeRow(name: string, context: BuildContext): NodeRow | undefined {
  if (!context.get(Node, name)) return undefined;
  const found = DOMAINS.map((domain) => [domain, context.cell(domain, name)] as const);
  const cells = found.filter((entry): entry is [Domain, MatrixCellRow] => entry[1] !== undefined);
  const own = context.verdict(`Node/${name}`);
  const health = cells.reduce<Health>(
    (worst, [, cell]) => worseHealth(worst, cell.health),
    own?.health ?? (cells.length > 0 ? "Healthy" : "Unknown"),
  );
  const since = cells.filter(([, cell]) => cell.health === health).flatMap(([, cell]) => cell.since ?? []);
  const { message } = reasonFields(own);
  return {
    type: "node",
    key: rowKey("node", name),
    name,
    health,
    ...(health !== "Healthy" && definedFields({ since: since.toSorted()[0] ?? own?.since, message })),
    cells: Object.fromEntries(cells),
  };
}

function domainRow(name: string, context: BuildContext): DomainRow | undefined {
  const domain = name as Domain;
  const cell = context.cell(domain);
  return cell && { type: "domain", key: rowKey("domain", name), domain, ...cell };
}

/** `key` must not reveal the cause to viewers without permission. */
export function causeRow(cause: Cause, key: string): CauseRow {
  const { symptoms, ...verdict } = cause;
  const { health, since } = verdict;
  return {
    type: "cause",
    key,
    verdict,
    health,
    ...definedFields({ since }),
    symptoms: symptoms.slice(0, MAX_SYMPTOMS).map((symptom) => {
      const { id, component, domain } = symptom;
      return definedFields({ id, component, domain, health: symptom.health, since: symptom.since });
    }),
    symptomCount: symptoms.length,
  };
}
