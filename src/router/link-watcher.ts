import type { Places } from "../hostnet/namespaces.ts";
import { watchLinks } from "../hostnet/watch-links.ts";
import type { Runnable } from "../kube/controller/controller.ts";
import type { Log } from "../kube/log.ts";
import { routerWatchRestarts } from "./metrics.ts";

/** Rings when links or addresses change in either namespace. */
export class LinkWatch implements Runnable {
  readonly name = "link watch";
  readonly #places: Places;
  readonly #log: Log;
  readonly #ring: () => void;
  #watching = new AbortController();

  constructor(places: Places, ring: () => void, log: Log) {
    this.#places = places;
    this.#ring = ring;
    this.#log = log;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#watching = new AbortController();
      await watchLinks(this.#places, this.#ring, AbortSignal.any([signal, this.#watching.signal]), (cause) => {
        routerWatchRestarts.inc();
        this.#log.debug({ error: cause }, "the watch over links ended and is started again");
      });
    }
  }

  /** The watch looks at a namespace, whatever becomes of its name, and keeps it alive. */
  lookAgain(): void {
    this.#watching.abort();
  }
}
