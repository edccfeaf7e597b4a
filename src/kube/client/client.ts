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
  /** The form that the answer should have, such as `application/json;as=Table;v=v1;g=meta.k8s.io`. */
  accept?: string;
  /** May be sent again when it is not known whether an earlier attempt was carried out; what GET and HEAD always may. */
  repeatable?: boolean;
}

/** One API server, spoken to as one identity over one pool of connections. */
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

  /** Any JSON request: discovery, /version, subresources, reviews. */
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

  /** An answer that goes on, on a connection of its own, for the caller to read and to destroy: watches in other forms than the kind's own. */
  stream(path: string, { signal, query, accept }: Pick<RequestOptions, "signal" | "query" | "accept">): Promise<IncomingMessage> {
    return this.#transport.stream({ verb: "raw", resource: "", method: "GET", path, query, accept, signal, repeatable: true });
  }

  /** What time it is for the server, by our clock and what was between the two at its last answer; undefined before that. */
  get serverTime(): number | undefined {
    const ahead = this.#transport.serverAheadMs;
    return ahead === undefined ? undefined : Date.now() + ahead;
  }

  /**
   * The same connections; `check` is called before every write, retries included, in the tick in which it is handed to the
   * socket, and throws to stop it.
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

  /** The same server and identity over connections of its own, which no call of this client can occupy. Closed with this client. */
  apart(options: ClientOptions): KubeClient {
    return new KubeClient(this.access, {}, { transport: this.#transport.apart(options), check: this.#check });
  }

  /** Ends every connection, also those of fenced clients and of clients apart; calls in flight end with Unreachable. */
  close(): void {
    this.#transport.close();
  }
}
