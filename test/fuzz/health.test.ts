import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { HealthServer } from "../../src/kube/health.ts";
import { createLog } from "../../src/kube/log.ts";
import { fuzz } from "./harness.ts";
import { type Random, runs, TIMEOUT_MS } from "./random.ts";

const server = new HealthServer(
  new Map([
    ["good", () => undefined],
    [
      "bad",
      () => {
        throw new Error("not ready");
      },
    ],
  ]),
  createLog({ level: "silent" }),
);
let port = 0;
beforeAll(async () => {
  port = Number((await server.listen("127.0.0.1:0")).split(":")[1]);
});
afterAll(() => server.close());

/** Sends bytes as they are, hangs up, and reads what comes. */
function raw(bytes: Buffer): Promise<string> {
  return new Promise((resolve) => {
    let answer = "";
    const socket = connect(port, "127.0.0.1", () => socket.end(bytes));
    socket.on("data", (chunk: Buffer) => (answer += chunk.toString("latin1")));
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(answer));
  });
}

function request(random: Random): Buffer {
  const method = random.pick(["GET", "GET", "HEAD", "POST", "OPTIONS", "CONNECT", "TRACE", "get", "G\u0000T"]);
  const path = random.pick(["/livez", "/readyz", "/readyz?verbose", "/nothing", "*", "//[::bad", `/${encodeURIComponent("\u001b")}`]);
  const target = random.chance(30) ? path + random.text() : path;
  const headers = Array.from(
    { length: random.int(4) },
    () =>
      `${random.pick(["Host", "Connection", "Content-Length", "Transfer-Encoding", "Expect", "Upgrade", random.text()])}: ${random.pick(["x", "close", "chunked", "0", "-1", "100-continue", "websocket", random.text()])}\r\n`,
  );
  const text = `${method} ${target} HTTP/1.${random.pick(["0", "1", "1", "2"])}\r\n${headers.join("")}\r\n${random.chance(10) ? random.text() : ""}`;
  return random.chance(30) ? random.broken(text) : Buffer.from(text);
}

test(
  "the health port survives any bytes",
  async () => {
    await fuzz("health port", runs(10_000), 16, async (random) => {
      const answer = await raw(random.chance(20) ? random.bytes(200) : request(random));
      expect(answer).toMatch(/^$|^HTTP\/1\.1 (100|200|400|404|405|408|413|417|431|503) /);
    });
    const alive = await fetch(`http://127.0.0.1:${port}/livez`);
    expect(await alive.text()).toBe("ok\n");
  },
  TIMEOUT_MS,
);
