import { expect, test } from "vitest";
import { createLog } from "../../kube/log.ts";
import { Pulse } from "../picture/pulse.ts";
import { pictureOf, PLACES } from "../specimen.ts";
import { anyone } from "../viewers/viewer.ts";
import { pageApp } from "./app.ts";

test("a token that no browser would keep in a cookie is refused with words, not forgotten after the login", async () => {
  const picture = pictureOf();
  const log = createLog({ level: "silent" });
  const pulse = new Pulse(picture, log);
  const app = pageApp({
    picture,
    pulse,
    places: PLACES,
    doorkeeper: { cookie: "__Host-plumbline", knowsHost: () => true, viewerOf: () => Promise.resolve(anyone) },
    assets: new Map(),
    version: "0.0.0",
    log,
    signal: new AbortController().signal,
  });
  const env = { incoming: { socket: { remoteAddress: "10.0.0.1" } } };
  const logIn = (token: string) => app.request("/api/login", { method: "POST", body: JSON.stringify({ token }) }, env);
  const kept = await logIn("x".repeat(3_000));
  expect([kept.status, kept.headers.get("set-cookie")?.length]).toEqual([200, expect.any(Number)]);
  const refused = await logIn("x".repeat(5_000));
  expect([refused.status, refused.headers.get("set-cookie")]).toEqual([413, null]);
  expect(await refused.json()).toEqual({ error: expect.stringContaining("too long for a cookie") as string });
  pulse.stop();
});
