import { Namespace } from "../../src/api/core/namespace.ts";
import { Service } from "../../src/api/core/service.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { inParallel } from "../in-parallel.ts";

const NAMESPACES = 50;
const TEAMS = 100;
/** Enough to keep the server busy. */
export const WRITERS = 24;

export const TEAM = "bench.plumbline.dev/team";
export const ROUND = "bench.plumbline.dev/round";

const PREFIX = "service-";
const nameOf = (n: number) => `${PREFIX}${n}`;
export const numberOf = (name = "") => Number(name.slice(PREFIX.length));
export const namespaceOf = (n: number) => `tenant-${n % NAMESPACES}`;
/** Every round moves every Service to another team, so that an index has work to do. */
export const teamOf = (n: number, round: number) => `team-${(n + round) % TEAMS}`;

export async function createServices(client: KubeClient, count: number, signal: AbortSignal): Promise<void> {
  const namespaces = client.resource(Namespace);
  await inParallel(WRITERS, NAMESPACES, (n) => namespaces.create({ metadata: { name: namespaceOf(n) } }, { signal }));
  const services = client.resource(Service);
  await inParallel(WRITERS, count, (n) => services.create(service(n), { signal, fieldManager: "helm" }));
}

/** One change to each Service. */
export async function changeServices(client: KubeClient, count: number, round: number, signal: AbortSignal): Promise<void> {
  const services = client.resource(Service);
  await inParallel(WRITERS, count, (n) => {
    const patch = { metadata: { labels: { [TEAM]: teamOf(n, round) }, annotations: { [ROUND]: String(round) } } };
    return services.patch({ namespace: namespaceOf(n), name: nameOf(n) }, patch, { signal, fieldManager: "team-mover" });
  });
}

/** As a Helm chart writes one. */
function service(n: number) {
  const name = nameOf(n);
  const selector = { "app.kubernetes.io/name": name, "app.kubernetes.io/instance": `shop-${n}` };
  return {
    metadata: {
      name,
      namespace: namespaceOf(n),
      labels: {
        ...selector,
        "app.kubernetes.io/version": "1.4.2",
        "app.kubernetes.io/managed-by": "Helm",
        "helm.sh/chart": "shop-0.9.1",
        [TEAM]: teamOf(n, 0),
      },
      annotations: {
        "meta.helm.sh/release-name": `shop-${n}`,
        "meta.helm.sh/release-namespace": namespaceOf(n),
        "metallb.io/address-pool": "public",
        [ROUND]: "0",
      },
    },
    spec: {
      type: "ClusterIP" as const,
      // For each address it gives out the server counts all that are given out already: 10 000 of them take minutes.
      clusterIP: "None",
      selector,
      ports: [
        { name: "http", protocol: "TCP" as const, port: 80, targetPort: 8080 },
        { name: "https", protocol: "TCP" as const, port: 443, targetPort: 8443 },
      ],
    },
  };
}
