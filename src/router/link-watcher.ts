import { Batch } from "../hostnet/batch.ts";
import { KernelError } from "../hostnet/error.ts";
import { controller, type Controller, type Runnable } from "../kube/controller/controller.ts";
import { ChannelSource } from "../kube/controller/source.ts";
import type { NetworkNamespaces } from "../hostnet/namespaces.ts";
import { watchLinks } from "../hostnet/watch-links.ts";
import type { Log } from "../kube/log.ts";
import { routerWatchRestarts } from "./metrics.ts";

/** Rings when links or addresses change in either namespace. */
export class LinkWatch implements Runnable {
  readonly name = "link watch";
  readonly #namespaces: NetworkNamespaces;
  readonly #log: Log;
  readonly #ring: () => void;
  #watching = new AbortController();

  constructor(namespaces: NetworkNamespaces, ring: () => void, log: Log) {
    this.#namespaces = namespaces;
    this.#ring = ring;
    this.#log = log;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#watching = new AbortController();
      await watchLinks(this.#namespaces, this.#ring, AbortSignal.any([signal, this.#watching.signal]), (cause) => {
        routerWatchRestarts.inc();
        this.#log.debug({ error: cause }, "link watch ended, restarting it");
      });
    }
  }

  /** The watch refers to a namespace, whatever its name is, and keeps it alive. */
  reopen(): void {
    this.#watching.abort();
  }
}

const PROBE_EVERY_MS = 60_000;

/**
 * Idle workloads keep their EVPN routes, and those that moved away lose them: every minute the kernel probes silent neighbors on the VNIs'
 * bridges.
 */
export function neighborController(namespace: string, log: Log): Controller {
  const channel = new ChannelSource();
  channel.ring();
  return controller("router-neighbors", {
    watches: [channel],
    log,
    async reconcile(_key, { signal }) {
      await probeStale(namespace, (link) => link.startsWith("br-pe-"), signal).catch((error: unknown) => {
        // Without its namespace there is no router; that is reported elsewhere.
        if (!(error instanceof KernelError) || error.code !== "Unreachable") throw error;
      });
      return { requeueAfter: PROBE_EVERY_MS * (0.75 + Math.random() / 2) };
    },
  });
}

interface PrintedNeighbor {
  readonly dst: string;
  readonly dev: string;
}

/**
 * Makes the kernel probe stale neighbors on links of this name. A neighbor that does not answer is removed, and with it the route that
 * announces it. Returns the number of probes.
 */
export async function probeStale(namespace: string, onLink: (name: string) => boolean, signal: AbortSignal): Promise<number> {
  await using batch = new Batch(namespace, signal);
  const { replies } = await batch.run([], [["neigh", "show", "nud", "stale"]]);
  const stale = (replies.flat() as PrintedNeighbor[]).filter(({ dev, dst }) => onLink(dev) && !dst.startsWith("fe80:"));
  let probed = 0;
  for (const { dst, dev } of stale) {
    // One that is gone is not probed.
    const { failed } = await batch.run([["neigh", "change", dst, "dev", dev, "nud", "probe"]], []);
    if (!failed) probed += 1;
  }
  return probed;
}
