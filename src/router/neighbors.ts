import { KernelError } from "../hostnet/error.ts";
import { probeStale } from "../hostnet/neighbors.ts";
import { controller, type Controller } from "../kube/controller/controller.ts";
import { ChannelSource } from "../kube/controller/source.ts";
import type { Log } from "../kube/log.ts";

const EVERY_MS = 60_000;

/**
 * Workloads that are idle keep their EVPN routes, and those that have moved away lose them: the kernel is told every minute to ask the neighbors on the VNIs'
 * bridges that have been silent.
 */
export function neighborController(namespace: string, log: Log): Controller {
  const channel = new ChannelSource();
  channel.ring();
  return controller("router-neighbors", {
    watches: [channel],
    log,
    async reconcile(_key, { signal }) {
      await probeStale(namespace, (link) => link.startsWith("br-pe-"), signal).catch((error: unknown) => {
        // Without its namespace there is no router, and no neighbor to ask; the router itself says what is wrong.
        if (!(error instanceof KernelError) || error.code !== "Unreachable") throw error;
      });
      return { requeueAfter: EVERY_MS * (0.75 + Math.random() / 2) };
    },
  });
}
