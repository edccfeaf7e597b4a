import { connect } from "node:net";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Check, HealthServer } from "./health.ts";
import { createLog } from "./log.ts";
import { reconciles } from "./metrics.ts";

const log = createLog({ level: "silent" });
let checks: Map<string, Check>;
let server: HealthServer;
let address: string;

beforeEach(async () => {
  checks = new Map();
  server = new HealthServer(checks, log);
  address = await server.listen("127.0.0.1:0");
});

afterEach(() => server.close());

async function ask(path: string, init?: RequestInit): Promise<{ status: number; text: string; headers: Headers }> {
  const response = await fetch(`http://${address}${path}`, init);
  return { status: response.status, text: await response.text(), headers: response.headers };
}

/** Sends bytes as they are and reads until the other side ends. */
function raw(bytes: string): Promise<string> {
  const [host, port] = address.split(":");
  return new Promise((resolve) => {
    let answer = "";
    const socket = connect(Number(port), host, () => socket.write(bytes));
    socket.on("data", (chunk: Buffer) => (answer += chunk.toString()));
    socket.on("error", () => {});
    socket.on("close", () => resolve(answer));
  });
}

test("livez succeeds while the process answers, ready or not", async () => {
  checks.set("caches", () => {
    throw new Error("waiting for nodes");
  });
  expect(await ask("/livez")).toMatchObject({ status: 200, text: "ok\n" });
});

test("readyz succeeds when every check passes, and verbose lists them", async () => {
  checks.set("caches", () => {});
  checks.set("panel", async () => {});
  expect(await ask("/readyz")).toMatchObject({ status: 200, text: "ok\n" });
  expect(await ask("/readyz?verbose")).toMatchObject({ status: 200, text: "[+] caches ok\n[+] panel ok\nreadyz ok\n" });
});

test("readyz lists every failing check with its reason, also without verbose", async () => {
  checks.set("caches", () => {
    throw new Error("waiting for nodes");
  });
  checks.set("panel", async () => {
    throw new Error("no answer");
  });
  checks.set("webhook", () => {});
  const { status, text } = await ask("/readyz");
  expect(status).toBe(503);
  expect(text).toBe("[-] caches failed: waiting for nodes\n[-] panel failed: no answer\n[+] webhook ok\nreadyz failed\n");
});

test("a check that never answers fails, and its signal aborts", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const called = Promise.withResolvers<AbortSignal>();
  checks.set("panel", (signal) => {
    called.resolve(signal);
    return new Promise(() => {});
  });
  const answer = ask("/readyz");
  const signal = await called.promise;
  vi.advanceTimersByTime(2000);
  expect(signal.aborted).toBe(true);
  expect(await answer).toMatchObject({ status: 503, text: "[-] panel failed: no answer within 2 s\nreadyz failed\n" });
  vi.useRealTimers();
});

test("metrics have the Prometheus text format and include those of the process", async () => {
  reconciles.inc({ controller: "health-test", outcome: "success" });
  const { status, text, headers } = await ask("/metrics");
  expect(status).toBe(200);
  expect(headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect(text).toContain('plumbline_reconciles_total{controller="health-test",outcome="success"} 1\n');
  expect(text).toContain("process_cpu_seconds_total");
});

test("other paths are 404 and other methods 405", async () => {
  expect((await ask("/")).status).toBe(404);
  expect((await ask("/readyz/caches")).status).toBe(404);
  expect((await ask("/constructor")).status).toBe(404);
  const post = await ask("/livez", { method: "POST", body: "x" });
  expect(post.status).toBe(405);
  expect(post.headers.get("allow")).toBe("GET, HEAD");
  expect(await ask("/livez", { method: "HEAD" })).toMatchObject({ status: 200, text: "" });
});

test("malformed HTTP is answered with 400 and affects no other request", async () => {
  for (const bytes of [
    "nonsense\r\n\r\n",
    "GET /livez HTTP/9.9\r\n\r\n",
    `GET /livez HTTP/1.1\r\nX: ${"x".repeat(100_000)}\r\n\r\n`,
    "\u0000",
  ]) {
    expect(await raw(bytes)).toMatch(/^HTTP\/1\.1 4\d\d |^$/);
  }
  expect(await raw("GET //[::bad?verbose HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).toMatch(/^HTTP\/1\.1 404 /);
  expect((await ask("/livez")).status).toBe(200);
});

test("closing does not wait for a request that never ends", async () => {
  const half = raw("GET /livez HTTP/1.1\r\n");
  await ask("/livez");
  await server.close();
  expect(await half).toBe("");
  await expect(ask("/livez")).rejects.toThrow("fetch failed");
});

test("an IPv6 address or a bare port is valid, and other values are rejected with the reason", async () => {
  const six = new HealthServer(checks, log);
  expect(await six.listen("[::1]:0")).toMatch(/^\[::1\]:\d+$/);
  await six.close();
  const both = new HealthServer(checks, log);
  expect(await both.listen("[127.0.0.1,::1]:0")).toMatch(/^127\.0\.0\.1:\d+,\[::1\]:\d+$/);
  await both.close();
  const one = new HealthServer(checks, log);
  // A documentation address cannot be bound.
  expect(await one.listen("[127.0.0.1,2001:db8::1]:0")).toMatch(/^127\.0\.0\.1:\d+$/);
  await one.close();
  const any = new HealthServer(checks, log);
  expect(await any.listen(":0")).toMatch(/:\d+$/);
  await any.close();
  for (const wrong of ["localhost", "localhost:", "1.2.3.4:http", ":70000"]) {
    await expect(new HealthServer(checks, log).listen(wrong)).rejects.toThrow("the address is not host:port or :port");
  }
});

test("an address in use is an error", async () => {
  await expect(new HealthServer(checks, log).listen(address)).rejects.toThrow("EADDRINUSE");
});
