import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

/** A TCP proxy that can hold back everything that passes through it, as a broken network does, and deliver it late. */
export class DelayingProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #delayed: (() => void)[] | undefined;

  private constructor(port: number) {
    this.#server = createServer((client) => this.#join(client, connect(port, "127.0.0.1")));
  }

  static async to(port: number): Promise<DelayingProxy> {
    const proxy = new DelayingProxy(port);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  hold(): void {
    this.#delayed = [];
  }

  /** Delivers what was held, in order, also from ends that are closed by now. */
  release(): void {
    const delayed = this.#delayed ?? [];
    this.#delayed = undefined;
    for (const deliver of delayed) deliver();
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }

  #join(client: Socket, upstream: Socket): void {
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      this.#sockets.add(from);
      from.on("data", (chunk) => this.#pass(() => to.write(chunk)));
      from.on("end", () => this.#pass(() => to.end()));
      from.on("error", () => this.#pass(() => to.destroySoon()));
      from.on("close", () => this.#sockets.delete(from));
    }
  }

  #pass(deliver: () => void): void {
    if (this.#delayed) this.#delayed.push(deliver);
    else deliver();
  }
}
