import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Child } from "../../lab/child.ts";
import { Service } from "../../src/api/core/service.ts";
import { Cache } from "../../src/kube/cache/cache.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { createPool, METALLB, reset, TENANT } from "./services.ts";

export interface Metallb {
  /** Its controller, built from its sources. */
  binary: string;
  kubeconfig: string;
  /** For its log. */
  directory: string;
}

/** MetalLB's own controller with the same Services and the same pool. Returns milliseconds. */
export async function metallbServes({ binary, kubeconfig, directory }: Metallb, client: KubeClient, count: number): Promise<number> {
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
    env: { KUBECONFIG: kubeconfig, METALLB_NAMESPACE: METALLB },
  });
  try {
    // It too has read everything before there is a pool.
    await sleep(10_000);
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
