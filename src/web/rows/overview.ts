import { Node } from "../../api/core/node.ts";
import { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { Service } from "../../api/core/service.ts";
import { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import { type Domain, type Health, worse } from "../../api/health.ts";
import type { Cause } from "../../explain/answer.ts";
import type { Places } from "../../explain/explainers.ts";
import { type FixedPainter, type Painter, type Ref, rowKey, type Scene } from "../model/row-builder.ts";
import { type CauseRow, type Cell, type DomainRow, type NodeRow, SYMPTOMS_SHOWN } from "../api.ts";
import { present, wordsOf } from "./fields.ts";

const DOMAINS: readonly Domain[] = ["router", "loadbalancer", "failover", "connectivity", "cluster"];

/** What a viewer must be allowed to list to see how many things of a domain are well. */
export function domainRefs({ routerNamespace, metallbNamespace }: Places): Readonly<Record<Domain, readonly Ref[]>> {
  return {
    router: [{ kind: RouterNodeConfigurationStatus, namespace: routerNamespace }],
    loadbalancer: [{ kind: ConfigurationState, namespace: metallbNamespace }, { kind: Service }],
    failover: [{ kind: FailoverPolicy }],
    connectivity: [{ kind: PodNetworkConnectivityCheck }],
    cluster: [{ kind: Node }],
  };
}

export const nodes: Painter<"overview"> = {
  view: "overview",
  type: "node",
  kind: Node,
  rowOf: ({ metadata }: Node) => metadata.name,
  paint: nodeRow,
  of: () => [{ kind: Node }],
};

export function domains(places: Places): FixedPainter<"overview"> {
  const refs = domainRefs(places);
  return { view: "overview", type: "domain", names: DOMAINS, paint: domainRow, of: (domain) => refs[domain as Domain] };
}

function nodeRow(name: string, scene: Scene): NodeRow | undefined {
  if (!scene.get(Node, name)) return undefined;
  const found = DOMAINS.map((domain) => [domain, scene.cell(domain, name)] as const);
  const cells = found.filter((entry): entry is [Domain, Cell] => entry[1] !== undefined);
  const own = scene.verdict(`Node/${name}`);
  const health = cells.reduce<Health>(
    (worst, [, cell]) => worse(worst, cell.health),
    own?.health ?? (cells.length > 0 ? "Healthy" : "Unknown"),
  );
  const since = cells.filter(([, cell]) => cell.health === health).flatMap(([, cell]) => cell.since ?? []);
  const { message } = wordsOf(own);
  return {
    type: "node",
    key: rowKey("node", name),
    name,
    health,
    ...(health !== "Healthy" && present({ since: since.toSorted()[0] ?? own?.since, message })),
    cells: Object.fromEntries(cells),
  };
}

function domainRow(name: string, scene: Scene): DomainRow | undefined {
  const domain = name as Domain;
  const cell = scene.cell(domain);
  return cell && { type: "domain", key: rowKey("domain", name), domain, ...cell };
}

/** `key` must not tell what the cause is: who may not see it sees that there is one. */
export function causeRow(cause: Cause, key: string): CauseRow {
  const { symptoms, ...verdict } = cause;
  const { health, since } = verdict;
  return {
    type: "cause",
    key,
    verdict,
    health,
    ...present({ since }),
    symptoms: symptoms.slice(0, SYMPTOMS_SHOWN).map((symptom) => {
      const { id, thing, domain } = symptom;
      return present({ id, thing, domain, health: symptom.health, since: symptom.since });
    }),
    symptomCount: symptoms.length,
  };
}
