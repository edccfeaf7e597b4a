import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Child } from "../../lab/child.ts";
import { Pod } from "../../src/api/core/pod.ts";
import { Service } from "../../src/api/core/service.ts";
import { builtinKind } from "../../src/api/kind.ts";
import { Cache } from "../../src/kube/cache/cache.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { createPool, METALLB, reset, TENANT } from "./services.ts";

export interface Metallb {
  /** Its controller, built from its sources. */
  binary: string;
  kubeconfig: string;
  /** For its log. */
  directory: string;
  /** How long it is given to read everything before there is a pool. */
  readsMs: number;
}

const POD = "metallb-controller";
const ServiceAccount = builtinKind({ group: "", version: "v1", kind: "ServiceAccount", plural: "serviceaccounts", scope: "Namespaced" });

/** The Pod that MetalLB's controller takes itself for: since 0.16 it reads its own Pod when it starts, and makes it the owner of its ConfigurationState. */
export async function createMetallbPod(client: KubeClient, signal: AbortSignal): Promise<void> {
  const metadata = { name: POD, namespace: METALLB };
  // The API server admits a Pod only with a ServiceAccount, and no controller manager runs here to create the default one.
  await client.resource(ServiceAccount).create({ metadata }, { signal });
  const spec = { serviceAccountName: POD, automountServiceAccountToken: false, containers: [{ name: "controller", image: "controller" }] };
  await client.resource(Pod).create({ metadata, spec }, { signal });
}

/** MetalLB's own controller with the same Services and the same pool. Returns milliseconds. */
export async function metallbServes(
  { binary, kubeconfig, directory, readsMs }: Metallb,
  client: KubeClient,
  count: number,
): Promise<number> {
  const watching = new AbortController();
  const { signal } = watching;
  await reset(client, signal);
  const services = new Cache(client, Service, { namespace: TENANT });
  const done = Promise.withResolvers<void>();
  const addressed = new Set<string>();
  services.subscribe(({ object }) => {
    if (object.status?.loadBalancer?.ingress) addressed.add(object.metadata.name);
    if (addressed.size === count) done.resolve();
  });
  services.start(signal);
  await services.waitForSync(signal);
  const controller = new Child("metallb", binary, ["--webhook-mode=disabled", "--port=0"], {
    logFile: join(directory, "metallb.log"),
    env: { KUBECONFIG: kubeconfig, METALLB_NAMESPACE: METALLB, METALLB_POD_NAME: POD },
  });
  try {
    await sleep(readsMs);
    const startedAt = performance.now();
    await createPool(client, signal);
    const died = controller.ended.then(() => {
      throw new Error(`MetalLB's controller ended: ${controller.logTail()}`);
    });
    await Promise.race([done.promise, died]);
    return performance.now() - startedAt;
  } finally {
    await controller.kill();
    watching.abort();
  }
}
