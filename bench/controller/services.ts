import { Namespace } from "../../src/api/core/namespace.ts";
import { Service } from "../../src/api/core/service.ts";
import { IPAddressPool } from "../../src/api/metallb/ip-address-pool.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { isKubeError } from "../../src/kube/client/error.ts";
import { inParallel } from "../in-parallel.ts";

export const METALLB = "metallb-system";
export const TENANT = "tenant";
/** As many as the controller has under way. */
export const WRITERS = 32;

const FROM = "metallb.io/ip-allocated-from-pool";
const pool = { name: "wide", namespace: METALLB };
export const nameOf = (n: number) => `service-${n}`;
const addressOf = (n: number) => `198.18.${n >> 8}.${n & 255}`;

export async function createTenant(client: KubeClient, signal: AbortSignal): Promise<void> {
  await client.resource(Namespace).create({ metadata: { name: TENANT } }, { signal });
}

/** Those from the first to before the last. */
export async function createServices(client: KubeClient, first: number, last: number, signal: AbortSignal): Promise<void> {
  await inParallel(WRITERS, last - first, (n) => {
    const name = nameOf(first + n);
    const metadata = { name, namespace: TENANT, labels: { "app.kubernetes.io/name": name } };
    const ports = [{ protocol: "TCP" as const, port: 80, targetPort: 8080 }];
    const spec = { type: "LoadBalancer" as const, allocateLoadBalancerNodePorts: false, selector: { app: name }, ports };
    return client.resource(Service).create({ metadata, spec }, { signal });
  });
}

export async function createPool(client: KubeClient, signal: AbortSignal): Promise<void> {
  const spec = { addresses: ["198.18.0.0/16"], autoAssign: true, avoidBuggyIPs: false };
  await client.resource(IPAddressPool).create({ metadata: pool, spec }, { signal });
}

/** Without addresses, as before the first reconcile. */
export async function reset(client: KubeClient, signal: AbortSignal): Promise<void> {
  await client
    .resource(IPAddressPool)
    .delete(pool, { signal })
    .catch((error: unknown) => {
      if (!isKubeError(error, "NotFound")) throw error;
    });
  const services = client.resource(Service);
  const { items } = await services.list({ namespace: TENANT, signal });
  await inParallel(WRITERS, items.length, async (n) => {
    const { metadata, status } = items[n] as Service;
    if (!status?.loadBalancer?.ingress && !status?.conditions) return;
    const patch = { metadata: { annotations: { [FROM]: null } }, status: { loadBalancer: null, conditions: null } };
    await services.patchStatus(metadata, patch, { signal });
  });
}

/** What no controller can do without: one patch for each Service, against the version that was listed. */
export async function bareLimit(client: KubeClient, count: number, signal: AbortSignal): Promise<number> {
  const services = client.resource(Service);
  const { items } = await services.list({ namespace: TENANT, signal });
  const startedAt = performance.now();
  await inParallel(WRITERS, count, (n) => {
    const { metadata } = items[n] as Service;
    const { resourceVersion = "" } = metadata;
    const status = { loadBalancer: { ingress: [{ ip: addressOf(n) }] } };
    return services.patchStatus(metadata, { metadata: { annotations: { [FROM]: pool.name } }, status }, { resourceVersion, signal });
  });
  return performance.now() - startedAt;
}
