import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

/** What happens to one connection after so many bytes of its answers. */
type Fate = "reset" | "stall" | "truncate" | "delay" | "reject";

const FATES: readonly Fate[] = ["reset", "stall", "truncate", "delay", "reject"];

/** How many pieces of a delayed connection come late before it breaks. */
const DELAYS = 10;

/** Stands between a client and a server and breaks their connections in all the ways a network can. It sees only bytes. */
export class CuttingProxy {
  readonly suffered: Record<Fate, number> = { reset: 0, stall: 0, truncate: 0, delay: 0, reject: 0 };
  /** Lets every connection be while true. */
  calm = false;
  /** Lets no connection be while true. */
  blocked = false;
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  readonly #target: number;
  readonly #random: () => number;

  private constructor(target: number, seed: number) {
    this.#target = target;
    this.#random = mulberry32(seed);
    this.#server = createServer((socket) => this.#serve(socket));
  }

  static async before(target: number, seed: number): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(target, seed);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get connections(): number {
    return this.#open.size / 2;
  }

  cutAll(): void {
    for (const socket of this.#open) cut(socket);
  }

  async stop(): Promise<void> {
    this.cutAll();
    this.#server.close();
    await once(this.#server, "close");
  }

  #serve(client: Socket): void {
    client.on("error", () => undefined);
    const fate = this.calm ? undefined : FATES[Math.floor(this.#random() * FATES.length)];
    if (this.blocked || fate === "reject") {
      if (!this.blocked) this.suffered.reject += 1;
      cut(client);
      return;
    }
    const server = connect(this.#target, "127.0.0.1");
    server.on("error", () => undefined);
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#open.add(one);
      one.on("close", () => {
        this.#open.delete(one);
        other.destroy();
      });
    }
    client.pipe(server);
    this.#answer(server, client, fate);
  }

  /** Passes on what the server says until the fate strikes. */
  #answer(server: Socket, client: Socket, fate: Exclude<Fate, "reject"> | undefined): void {
    let left = 1_000 + Math.floor(this.#random() * 20_000);
    let delays = 0;
    let struck = false;
    server.on("data", (chunk) => {
      if (struck) return;
      left -= chunk.length;
      if (fate === undefined || left > 0) {
        client.write(chunk);
      } else if (fate === "delay" && delays++ < DELAYS) {
        if (delays === 1) this.suffered.delay += 1;
        server.pause();
        setTimeout(() => {
          client.write(chunk);
          server.resume();
        }, this.#random() * 20);
      } else {
        struck = true;
        if (fate !== "delay") this.suffered[fate] += 1;
        // The last bytes go out, so that what arrives ends in the middle of something.
        client.write(chunk.subarray(0, Math.max(0, chunk.length + left)));
        if (fate === "truncate") client.end(() => server.destroy());
        else if (fate !== "stall") cut(client);
      }
    });
    server.on("end", () => client.end());
  }
}

/** Node cannot reset a socket in the moment in which it is being ended: it is then never closed, and its worker thread never ends. */
function cut(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}

function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
