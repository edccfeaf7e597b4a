import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";

const CHANNEL = "http.server.request.start";

/** Counts what a machine asks of the servers of this process to change. */
export class WriteCounter implements Disposable {
  readonly #count: (message: unknown) => void;
  /** Of statuses, or of anything else that is not a Lease. */
  statuses = 0;
  leases = 0;

  constructor(from: string) {
    this.#count = (message) => {
      const { method = "GET", url = "", socket } = (message as { request: IncomingMessage }).request;
      if (method === "GET" || socket.remoteAddress !== from) return;
      if (url.includes("/leases/")) this.leases += 1;
      else this.statuses += 1;
    };
    subscribe(CHANNEL, this.#count);
  }

  [Symbol.dispose](): void {
    unsubscribe(CHANNEL, this.#count);
  }
}
