import { addControllerComponents } from "../../src/cli/shared/controller-components.ts";
import type { ClusterAccess } from "../../src/kube/client/access.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { Manager } from "../../src/kube/controller/manager.ts";
import { createLog } from "../../src/kube/log.ts";

/** The controller of a cluster, alone and in this process; the audit log knows it as `controller`. */
export function startController(access: ClusterAccess, options: { silenceMs?: number } = {}): AsyncDisposable {
  const log = createLog({ level: "silent" });
  const client = new KubeClient(access, { userAgent: "controller" });
  const manager = new Manager({ client, log });
  addControllerComponents({
    manager,
    client,
    log,
    namespace: "plumbline-system",
    routerNamespace: "openperouter-system",
    loadBalancer: { namespace: "metallb-system" },
    waitForOldWrites: () => Promise.resolve(),
    ...options,
  });
  const stop = new AbortController();
  const ended = manager.run(stop.signal);
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
      client.close();
    },
  };
}
