import type { NetworkNamespaces } from "../hostnet/namespaces.ts";
import { watchLinks } from "../hostnet/watch-links.ts";
import type { Runnable } from "../kube/controller/controller.ts";
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

  /** The watch looks at a namespace, whatever becomes of its name, and keeps it alive. */
  reopen(): void {
    this.#watching.abort();
  }
}
