import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { json } from "node:stream/consumers";
import type { ChangeEvent, ViewName } from "../../../src/web/api.ts";
import { cacheDirectory } from "../../../src/util/cache-directory.ts";
import { builtPage } from "../../../tools/page.ts";
import { type PageFixture, snapshotOf } from "./fixtures.ts";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'";

/** Serves the page with a fixture behind it, and what the test wants to have changed. */
export class PageServer implements AsyncDisposable {
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  readonly #streams = new Set<ServerResponse>();
  readonly #directory: string;
  #revision = 1;
  fixture: PageFixture;
  /** What one must log in with; none: everyone may look. */
  token: string | undefined;
  /** Whether a reader that reconnects gets only the events it has missed, here none. */
  resumes = false;
  /** What streams were asked for, with the id that they wanted to go on from. */
  readonly streams: { readonly query: string; readonly resumed: string | undefined }[] = [];

  private constructor(directory: string, fixture: PageFixture) {
    this.#directory = directory;
    this.fixture = fixture;
  }

  static async start(fixture: PageFixture, port = 0): Promise<PageServer> {
    const server = new PageServer(await builtPage(join(cacheDirectory(), "page")), fixture);
    await once(server.#server.listen(port, "127.0.0.1"), "listening");
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get address(): string {
    return `http://127.0.0.1:${this.port}/`;
  }

  tell(change: ChangeEvent): void {
    this.#revision++;
    for (const stream of this.#streams) this.#send(stream, "change", change);
  }

  /** Cuts every stream, as a proxy may. */
  cut(): void {
    for (const stream of this.#streams) stream.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://page");
    response.setHeader("content-security-policy", POLICY);
    if (url.pathname === "/api/login") return this.#logIn(request, response);
    if (url.pathname.startsWith("/api/") && this.token !== undefined && request.headers.cookie !== `token=${this.token}`)
      return reject(response, "No token yet");
    if (url.pathname === "/api/stream") return this.#stream(url.searchParams, request, response);
    if (url.pathname === "/api/whoami")
      return void response
        .setHeader("content-type", "application/json")
        .end(JSON.stringify({ user: "you", login: false, version: "0.0.0" }));
    const file = url.pathname === "/" ? "index.html" : url.pathname.slice(1);
    const content = await readFile(join(this.#directory, file)).catch(() => undefined);
    response.writeHead(content ? 200 : 404, { "content-type": TYPES[extname(file)] ?? "text/plain" }).end(content);
  }

  async #logIn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { token } = (await json(request)) as { token: string };
    if (token !== this.token) return reject(response, "The cluster does not know this token");
    response.setHeader("set-cookie", `token=${token}; HttpOnly; SameSite=Strict`).writeHead(204).end();
  }

  #stream(query: URLSearchParams, request: IncomingMessage, response: ServerResponse): void {
    const { "last-event-id": resumed } = request.headers;
    this.streams.push({ query: query.toString(), resumed: resumed === undefined ? undefined : String(resumed) });
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("retry: 200\n\n");
    this.#streams.add(response);
    response.on("close", () => this.#streams.delete(response));
    const views = (query.get("views") ?? "").split(",") as ViewName[];
    // As a server that still knows what the reader knows: nothing was missed.
    if (resumed !== undefined && this.resumes) return void response.write("event: heartbeat\ndata: {}\n\n");
    this.#send(response, "snapshot", snapshotOf(this.fixture, views, query.get("component") ?? undefined, query.get("why") ?? undefined));
  }

  #send(stream: ServerResponse, event: string, body: unknown): void {
    stream.write(`id: fixture-${this.#revision}\nevent: ${event}\ndata: ${JSON.stringify(body)}\n\n`);
  }
}

function reject(response: ServerResponse, error: string): void {
  response.writeHead(401, { "content-type": "application/json" }).end(JSON.stringify({ error }));
}
