import { KernelError } from "../hostnet/error.ts";
import { probeStale } from "../hostnet/neighbors.ts";
import { controller, type Controller } from "../kube/controller/controller.ts";
import { Bell } from "../kube/controller/source.ts";
import type { Log } from "../kube/log.ts";

const EVERY_MS = 60_000;

/**
 * Workloads that are idle keep their EVPN routes, and those that have moved away lose them: the kernel is told every minute to ask the neighbours on the VNIs'
 * bridges that have been silent.
 */
export function neighbourController(namespace: string, log: Log): Controller {
  const bell = new Bell();
  bell.ring();
  return controller("router-neighbours", {
    watches: [bell],
    log,
    async reconcile(_key, { signal }) {
      await probeStale(namespace, (link) => link.startsWith("br-pe-"), signal).catch((error: unknown) => {
        // Without its namespace there is no router, and no neighbour to ask; the router itself says what is wrong.
        if (!(error instanceof KernelError) || error.code !== "Unreachable") throw error;
      });
      return { requeueAfter: EVERY_MS * (0.75 + Math.random() / 2) };
    },
  });
}
