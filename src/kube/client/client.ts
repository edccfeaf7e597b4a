import type { IncomingMessage } from "node:http";
import type { KubeObject, Kind } from "../../api/kind.ts";
import type { ClusterAccess } from "./access.ts";
import { ResourceClient } from "./resource-client.ts";
import { type ClientOptions, Transport } from "./transport.ts";

export interface RequestOptions {
  signal: AbortSignal;
  query?: Record<string, string | undefined>;
  body?: unknown;
  contentType?: string;
  accept?: string;
  /** May be sent again even if an earlier attempt may have succeeded; GET and HEAD always may. */
  repeatable?: boolean;
}

export class KubeClient {
  readonly access: ClusterAccess;
  readonly #transport: Transport;
  readonly #check: (() => void) | undefined;

  constructor(access: ClusterAccess, options: ClientOptions = {}, shared?: { transport: Transport; check: (() => void) | undefined }) {
    this.access = access;
    this.#transport = shared?.transport ?? new Transport(access, options);
    this.#check = shared?.check;
  }

  resource<T extends KubeObject>(kind: Kind<T>): ResourceClient<T> {
    return new ResourceClient(this.#transport, kind, this.#check);
  }

  async request<T>(method: string, path: string, options: RequestOptions): Promise<T> {
    const reads = method === "GET" || method === "HEAD";
    return (await this.#transport.call({
      verb: "raw",
      resource: "",
      method,
      path,
      query: options.query,
      body: options.body,
      contentType: options.contentType,
      accept: options.accept,
      signal: options.signal,
      repeatable: reads || options.repeatable === true,
      check: reads ? undefined : this.#check,
    })) as T;
  }

  /** A streamed response on its own connection, for the caller to read and destroy: watches with another Accept header. */
  stream(path: string, { signal, query, accept }: Pick<RequestOptions, "signal" | "query" | "accept">): Promise<IncomingMessage> {
    return this.#transport.stream({ verb: "raw", resource: "", method: "GET", path, query, accept, signal, repeatable: true });
  }

  /** The server's time, from the local clock and the offset in its last response; undefined before that. */
  get serverTime(): number | undefined {
    const ahead = this.#transport.serverAheadMs;
    return ahead === undefined ? undefined : Date.now() + ahead;
  }

  /**
   * Shares the connections. `check` is called before every write, retries included, in the tick in which it is handed to the socket, and
   * throws to stop it.
   */
  fenced(check: () => void): KubeClient {
    const outer = this.#check;
    const both = outer
      ? (): void => {
          outer();
          check();
        }
      : check;
    return new KubeClient(this.access, {}, { transport: this.#transport, check: both });
  }

  /** The same server and identity with separate connections, which calls of this client cannot occupy. Closed with this client. */
  apart(options: ClientOptions): KubeClient {
    return new KubeClient(this.access, {}, { transport: this.#transport.apart(options), check: this.#check });
  }

  /** Closes all connections, also those of derived clients; calls in flight fail with Unreachable. */
  close(): void {
    this.#transport.close();
  }
}
