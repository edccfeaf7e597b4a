import { setTimeout as sleep } from "node:timers/promises";
import { Service } from "../../src/api/core/service.ts";
import { addControllerComponents } from "../../src/cli/shared/controller-components.ts";
import { Cache } from "../../src/kube/cache/cache.ts";
import { accessFromKubeconfig } from "../../src/kube/client/access.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { Manager } from "../../src/kube/controller/manager.ts";
import { createLog } from "../../src/kube/log.ts";
import type { Report } from "./report.ts";
import { METALLB, TENANT } from "./services.ts";

/** `plumbline controller`, alone, which tells when so many Services have their address. */
const [path = "", count = ""] = process.argv.slice(2);
const client = new KubeClient(await accessFromKubeconfig({ path }));
const log = createLog({ level: "warn" });
const { signal } = new AbortController();
const manager = new Manager({ client, log });
addControllerComponents({
  manager,
  client,
  log,
  namespace: "plumbline-system",
  routerNamespace: "openperouter-system",
  loadBalancer: { namespace: METALLB },
  waitForOldWrites: () => Promise.resolve(),
});
const services = new Cache(client, Service, { namespace: TENANT, transform: addressOnly });
// Each once: a Service may be written again before the last has its address.
const addressed = new Set<string>();
const done = Promise.withResolvers<void>();
services.subscribe(({ object }) => {
  if (object.status?.loadBalancer?.ingress) addressed.add(object.metadata.name);
  if (addressed.size === Number(count)) done.resolve();
});
services.start(signal);
void manager.run(signal);
await services.waitForSync(signal);
// What is there to be read has been read, and the pool that all of them wait for can come.
await sleep(2_000);

process.on("message", () => void measure());
process.on("disconnect", () => process.exit());
process.send?.({ ready: true });

async function measure(): Promise<void> {
  const [startedAt, before] = [performance.now(), process.cpuUsage()];
  await done.promise;
  const { user, system } = process.cpuUsage(before);
  process.send?.({ ms: performance.now() - startedAt, cpuMs: (user + system) / 1000 } satisfies Report);
}

function addressOnly(service: Service): Service {
  const { name, namespace = "", uid = "", resourceVersion = "" } = service.metadata;
  const { ingress } = service.status?.loadBalancer ?? {};
  return {
    metadata: { name, namespace, uid, resourceVersion },
    spec: { type: "LoadBalancer" },
    status: { loadBalancer: ingress ? { ingress } : {} },
  };
}
