import { expect, onTestFinished, test } from "vitest";
import { createLog } from "../../kube/log.ts";
import { RefreshTimer } from "../model/refresh-timer.ts";
import { modelOf, CONFIG_NAMESPACES } from "../testing/fixtures.ts";
import { unrestrictedViewer } from "../access/viewer.ts";
import { dashboardApp } from "./app.ts";

function served() {
  const model = modelOf();
  const log = createLog({ level: "silent" });
  const timer = new RefreshTimer(model, log);
  onTestFinished(() => timer.stop());
  return dashboardApp({
    model,
    timer,
    namespaces: CONFIG_NAMESPACES,
    authenticator: { cookie: "__Host-plumbline", knowsHost: () => true, viewerOf: () => Promise.resolve(unrestrictedViewer) },
    assets: new Map(),
    version: "0.0.0",
    log,
    signal: new AbortController().signal,
  });
}
const env = { incoming: { socket: { remoteAddress: "10.0.0.1" } } };

test("a token that does not fit into a cookie is rejected with a message", async () => {
  const app = served();
  const headers = { "content-type": "application/json" };
  const logIn = (token: string) => app.request("/api/login", { method: "POST", headers, body: JSON.stringify({ token }) }, env);
  const kept = await logIn("x".repeat(3_000));
  expect([kept.status, kept.headers.get("set-cookie")?.length]).toEqual([200, expect.any(Number)]);
  const rejected = await logIn("x".repeat(5_000));
  expect([rejected.status, rejected.headers.get("set-cookie")]).toEqual([413, null]);
  expect(await rejected.json()).toEqual({ error: expect.stringContaining("too long for a cookie") as string });
});

test("a token with half of a surrogate pair is rejected", async () => {
  const body = JSON.stringify({ token: "x\ud800" });
  const { status } = await served().request("/api/login", { method: "POST", headers: { "content-type": "application/json" }, body }, env);
  expect(status).toBe(400);
});

test.for([
  ["a form of another site", { "content-type": "text/plain", "sec-fetch-site": "cross-site" }, 415],
  ["a form of an old browser", { "content-type": "application/x-www-form-urlencoded" }, 415],
  ["nothing about its type", {}, 415],
  ["a script of another site", { "content-type": "application/json", "sec-fetch-site": "cross-site" }, 403],
  ["a page of another host in the domain", { "content-type": "application/json", "sec-fetch-site": "same-site" }, 403],
  ["this page", { "content-type": "application/json; charset=utf-8", "sec-fetch-site": "same-origin" }, 200],
  ["a program", { "content-type": "application/json" }, 200],
] as const)("login and logout from %s", async ([, headers, status]) => {
  for (const path of ["/api/login", "/api/logout"]) {
    const body = new TextEncoder().encode('{"token":"of-an-attacker","x":"="}');
    const answer = await served().request(path, { method: "POST", headers, body }, env);
    expect([answer.status, answer.headers.has("set-cookie")]).toEqual([status, status === 200]);
  }
});
