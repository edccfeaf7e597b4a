import { once } from "node:events";
import { createServer as createHttp, type IncomingMessage, type RequestListener } from "node:http";
import { createServer as createHttps } from "node:https";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { afterEach, expect, test, vi } from "vitest";
import type { Probe } from "../../api/connectivity/probe.ts";
import { parsePrefix } from "../../ip/prefix.ts";
import { createAuthority, issue } from "../../kube/x509.ts";
import { probe } from "./probe.ts";
import { Lookups } from "./lookups.ts";
import { parseTarget, withProbe } from "./target.ts";

const HOUR = 3_600_000;
const valid = { notBefore: new Date(Date.now() - HOUR), notAfter: new Date(Date.now() + HOUR) };
const authority = createAuthority({ commonName: "CA", ...valid });
const certificate = (names: readonly string[], validity = valid) =>
  issue(authority, { commonName: "web", names, usage: "server", ...validity });

const servers: Server[] = [];
const sockets = new Set<Socket>();
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  for (const server of servers.splice(0)) server.close();
});

async function listening(server: Server): Promise<number> {
  servers.push(server.listen(0, "127.0.0.1"));
  server.on("connection", (socket: Socket) => sockets.add(socket));
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

const http = (listener: RequestListener) => listening(createHttp(listener));
const raw = (listener: (socket: Socket) => void) => listening(createServer((socket) => listener(socket.on("error", () => {}))));
const fine: RequestListener = (_request, response) => response.end("fine");
const https = (names: readonly string[], validity = valid, listener = fine) => {
  const { certificate: cert, privateKey: key } = certificate(names, validity);
  return listening(createHttps({ cert, key }, listener));
};

interface Request extends Omit<Probe, "type"> {
  type?: Probe["type"];
  endpoint?: string;
  allowed?: string;
  timeoutMs?: number;
}

/** What an attempt comes to: `HTTPDone HTTP 200 from URL`, with URL for the own one and PORT for the port. */
async function tried(port: number, { endpoint = "127.0.0.1", allowed = "127.0.0.0/8", timeoutMs = 5000, ...given }: Request = {}) {
  const plain = parseTarget(`${endpoint}:${port}`);
  if ("problem" in plain) throw new Error(plain.problem);
  const target = withProbe(plain, { type: "HTTP", ...given });
  const lookups = new Lookups(async () => ({ addresses: ["127.0.0.1"] }), 1);
  const options = { signal: new AbortController().signal, allowed: [parsePrefix(allowed)], timeoutMs, lookups };
  const { actions, reachable, target: text } = await probe(target, 1, options);
  expect(reachable).toBe(actions.at(-1)?.outcome === "HTTPDone");
  expect(text).toBe(target.text);
  const last = actions.at(-1);
  return `${last?.outcome} ${last?.message.replace(target.text, "URL").replaceAll(String(port), "PORT")}`;
}

const answering = (status: number, body = "", headers: Record<string, string> = {}) =>
  http((_request, response) => response.writeHead(status, headers).end(body));

test.each<[string, number, Request, string]>([
  ["any 2xx status without an expectation", 204, {}, "HTTPDone HTTP 204 from URL"],
  ["a listed status", 404, { expect: { status: [200, 404] } }, "HTTPDone HTTP 404 from URL"],
  ["a text in the body", 200, { expect: { body: "ready" } }, "HTTPDone HTTP 200 from URL"],
  ["a server error", 503, {}, "UnexpectedStatus Unexpected answer of URL; status 503, expected 200 to 299"],
  [
    "a status that is not listed",
    204,
    { expect: { status: [200, 404] } },
    "UnexpectedStatus Unexpected answer of URL; status 204, expected 200 or 404",
  ],
  [
    "a body without the text",
    200,
    { expect: { body: "Ready" } },
    "BodyMismatch Unexpected answer of URL; the body does not contain the expected text",
  ],
  [
    "a wrong status, whatever the body",
    500,
    { expect: { body: "ready" } },
    "UnexpectedStatus Unexpected answer of URL; status 500, expected 200 to 299",
  ],
  [
    "a redirect, which is not followed unless requested",
    302,
    {},
    "UnexpectedStatus Unexpected answer of URL; status 302, expected 200 to 299",
  ],
])("%s", async (_what, status, request, result) => {
  const body = status === 204 ? "" : "all ready";
  expect(await tried(await answering(status, body, { location: "/other" }), request)).toBe(result);
});

test("the request is a GET of the path, with the host of the target or the given one, and without credentials", async () => {
  const received: Pick<IncomingMessage, "method" | "url" | "headers">[] = [];
  const port = await http((request, response) => {
    received.push(request);
    response.end();
  });
  await tried(port, { path: "/healthz?full=1" });
  await tried(port, { endpoint: "web.test" });
  await tried(port, { endpoint: "web.test", host: "shop.test" });
  expect(received.map(({ method, url }) => `${method} ${url}`)).toEqual(["GET /healthz?full=1", "GET /", "GET /"]);
  expect(received.map(({ headers }) => headers.host)).toEqual([`127.0.0.1:${port}`, `web.test:${port}`, `shop.test:${port}`]);
  expect(Object.keys(received[0]?.headers ?? {}).toSorted()).toEqual(["accept", "connection", "host", "user-agent"]);
});

test("redirects to the same host are followed when requested, three at most", async () => {
  const port = await http((request, response) => {
    const left = Number(request.url?.slice(1));
    if (left === 0) response.end("there");
    else response.writeHead(307, { location: `/${left - 1}` }).end();
  });
  expect(await tried(port, { path: "/3", followRedirects: true, expect: { body: "there" } })).toBe("HTTPDone HTTP 200 from URL");
  expect(await tried(port, { path: "/4", followRedirects: true })).toBe(
    "UnexpectedStatus Unexpected answer of URL; status 307 after 3 redirects",
  );
});

test("a redirect to another host is not followed: only the addresses of the target are allowed", async () => {
  for (const location of ["http://169.254.169.254/latest", "//other.test/", "ftp://127.0.0.1/"]) {
    expect(await tried(await answering(302, "", { location }), { followRedirects: true })).toBe(
      "UnexpectedStatus Unexpected answer of URL; status 302 redirects to another host",
    );
  }
});

test("an HTTPS check follows no redirect to HTTP", async () => {
  const port = await https(["127.0.0.1"], valid, (request, response) => {
    const location = request.url === "/" ? "/http" : `http://127.0.0.1:${plain}/`;
    response.writeHead(302, { location }).end();
  });
  const plain = await answering(200);
  expect(await tried(port, { type: "HTTPS", tls: { caBundle }, followRedirects: true })).toBe(
    "UnexpectedStatus Unexpected answer of URL; status 302 redirects from HTTPS to HTTP",
  );
  expect(await tried(await answering(302, "", { location: `http://127.0.0.1:${plain}/` }), { followRedirects: true })).toBe(
    "HTTPDone HTTP 200 from URL",
  );
});

test("a forbidden address gets no request", async () => {
  let requests = 0;
  const port = await http(() => (requests += 1));
  expect(await tried(port, { allowed: "10.0.0.0/8" })).toMatch(/^ConnectError Failed connect to URL; 127\.0\.0\.1 is a loopback address/);
  expect(requests).toBe(0);
});

test("a closed port is a failed connection", async () => {
  const gone = createServer().listen(0, "127.0.0.1");
  await once(gone, "listening");
  const { port } = gone.address() as AddressInfo;
  gone.close();
  await once(gone, "close");
  for (const type of ["HTTP", "HTTPS"] as const)
    expect(await tried(port, { type })).toBe("ConnectError Failed connect to URL; Connection refused");
});

test("a body is read up to 64 KiB: a text behind that is not found, and an endless answer ends the check", async () => {
  const far = await answering(200, `${"x".repeat(65_536)}ready`);
  const endless = await http((_request, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write("x".repeat(4096)));
      if (!response.destroyed) response.once("drain", more);
    };
    more();
  });
  const result = "BodyMismatch Unexpected answer of URL; the first 64 KiB of the body do not contain the expected text";
  expect(await tried(far, { expect: { body: "ready" } })).toBe(result);
  expect(await tried(endless, { expect: { body: "ready" } })).toBe(result);
  expect(await tried(endless, {})).toBe("HTTPDone HTTP 200 from URL");
});

test("the text is found across the borders of packets", async () => {
  const port = await http((_request, response) => {
    response.write("all rea");
    setImmediate(() => response.write("dy"));
  });
  expect(await tried(port, { expect: { body: "ready" } })).toBe("HTTPDone HTTP 200 from URL");
});

/** Each piece arrives as one chunk of the body. */
const inPieces = (pieces: readonly string[]) => {
  const chunks = pieces.map((piece) => `${Buffer.byteLength(piece).toString(16)}\r\n${piece}\r\n`);
  const answer = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks.join("")}0\r\n\r\n`;
  return raw((socket) => socket.end(answer));
};

test("a body in many small pieces is not copied again for each piece", async () => {
  const body = `${"re".repeat(4000)}ready`;
  const port = await inPieces(Array.from(body));
  const concat = vi.spyOn(Buffer, "concat");
  try {
    expect(await tried(port, { expect: { body: "ready" } })).toBe("HTTPDone HTTP 200 from URL");
    const copied = concat.mock.results.reduce((sum, { value }) => sum + (value as Buffer).length, 0);
    expect(copied).toBeLessThan(body.length * 10);
  } finally {
    concat.mockRestore();
  }
});

test("the text may end with the 64 KiB that are read, and not after them", async () => {
  const missing = "BodyMismatch Unexpected answer of URL; the first 64 KiB of the body do not contain the expected text";
  for (const wanted of ["ready", "y", "größer"]) {
    const before = "x".repeat(65_536 - Buffer.byteLength(wanted));
    expect(await tried(await inPieces([before, ...Array.from(wanted), "x"]), { expect: { body: wanted } })).toBe(
      "HTTPDone HTTP 200 from URL",
    );
    expect(await tried(await inPieces([`${before}x`, ...Array.from(wanted), "x"]), { expect: { body: wanted } })).toBe(missing);
  }
});

const SILENT = { timeoutMs: 1000 };

test.each<[string, (socket: Socket) => void, string, object?]>([
  ["closes", (socket) => socket.end(), "the connection was closed before an answer"],
  ["is no HTTP server", (socket) => socket.end("SSH-2.0-OpenSSH\r\n"), "the answer is not HTTP"],
  [
    "sends headers without an end",
    (socket) => socket.write(`HTTP/1.1 200 OK\r\nX: ${"x".repeat(20_000)}`),
    "the headers of the answer are too long",
  ],
  ["is silent", () => {}, "no complete answer in time", SILENT],
])("a server that %s fails the request", async (_what, listener, why, request = {}) => {
  expect(await tried(await raw(listener), request)).toBe(`HTTPError Failed request to URL; ${why}`);
});

test("an answer whose body ends early or never is a failed request", async () => {
  const broken = await http((_request, response) => {
    response.writeHead(200, { "content-length": "100" }).write("all");
    setImmediate(() => response.destroy());
  });
  const stuck = await http((_request, response) => response.writeHead(200, { "content-length": "100" }).write("all"));
  const wanted = { expect: { body: "ready" } };
  expect(await tried(broken, wanted)).toBe("HTTPError Failed request to URL; the answer ended early");
  expect(await tried(stuck, { ...wanted, ...SILENT })).toBe("HTTPError Failed request to URL; no complete answer in time");
});

const caBundle = authority.certificate;

test("the certificate is verified with the given authority, for the address, the name, or the given host", async () => {
  const port = await https(["127.0.0.1", "web.test", "shop.test"]);
  const tls = { caBundle };
  expect(await tried(port, { type: "HTTPS", tls })).toBe("HTTPDone HTTP 200 from URL");
  expect(await tried(port, { type: "HTTPS", tls, endpoint: "web.test", expect: { body: "fine" } })).toBe("HTTPDone HTTP 200 from URL");
  expect(await tried(port, { type: "HTTPS", tls, host: "shop.test" })).toBe("HTTPDone HTTP 200 from URL");
});

test("the name for SNI and Host has no trailing dot, and an address is not sent for SNI", async () => {
  const received: unknown[] = [];
  const port = await https(["web.test", "192.0.2.9", "127.0.0.1"], valid, ({ socket, headers }, response) => {
    received.push([(socket as TLSSocket).servername, headers.host?.replace(String(port), "PORT")]);
    response.end();
  });
  for (const request of [{ endpoint: "web.test." }, { host: "192.0.2.9" }, {}])
    expect(await tried(port, { type: "HTTPS", tls: { caBundle }, ...request })).toBe("HTTPDone HTTP 200 from URL");
  expect(received).toEqual([
    ["web.test", "web.test:PORT"],
    [false, "192.0.2.9:PORT"],
    [false, "127.0.0.1:PORT"],
  ]);
  expect(await tried(port, { type: "HTTPS", tls: { caBundle }, host: "192.0.2.8" })).toBe(
    "TLSError Failed TLS with URL; the certificate is not valid for 192.0.2.8",
  );
});

test("a certificate for another name is a failure", async () => {
  const port = await https(["other.test"]);
  const tls = { caBundle };
  expect(await tried(port, { type: "HTTPS", tls })).toBe("TLSError Failed TLS with URL; the certificate is not valid for 127.0.0.1");
  expect(await tried(port, { type: "HTTPS", tls, host: "web.test" })).toBe(
    "TLSError Failed TLS with URL; the certificate is not valid for web.test",
  );
});

test("a certificate of an unknown authority is a failure, unless every certificate is accepted", async () => {
  const port = await https(["127.0.0.1"]);
  expect(await tried(port, { type: "HTTPS" })).toBe("TLSError Failed TLS with URL; the certificate is signed by an unknown authority");
  expect(await tried(port, { type: "HTTPS", tls: { insecure: true } })).toBe("HTTPDone HTTP 200 from URL");
});

test("an expired certificate is a failure", async () => {
  const past = { notBefore: new Date(Date.now() - 2 * HOUR), notAfter: new Date(Date.now() - HOUR) };
  const port = await https(["127.0.0.1"], past);
  expect(await tried(port, { type: "HTTPS", tls: { caBundle } })).toBe("TLSError Failed TLS with URL; the certificate has expired");
});

const failed = (port: number, timing = {}) => tried(port, { type: "HTTPS", ...timing });

test("a server without TLS, a closed handshake and a silent one are TLS failures", async () => {
  expect(await failed(await answering(200))).toBe("TLSError Failed TLS with URL; the server does not speak TLS");
  expect(await failed(await raw((socket) => socket.end()))).toBe(
    "TLSError Failed TLS with URL; the server closed the connection during the handshake",
  );
  expect(await failed(await raw(() => {}), SILENT)).toBe("TLSError Failed TLS with URL; the handshake did not end in time");
});

test("no connection is left behind, whatever the result", async () => {
  const port = await http((request, response) => {
    if (request.url === "/silent") return;
    response.writeHead(request.url === "/bad" ? 500 : 200).write("never ends");
  });
  for (const path of ["/", "/bad", "/silent"]) await tried(port, { path, ...SILENT });
  for (const socket of sockets) if (!socket.destroyed) await once(socket, "close");
  expect(Array.from(sockets, ({ destroyed }) => destroyed)).toEqual([true, true, true]);
});
