import { expect, test } from "vitest";
import type { KubeClient } from "../../kube/client/client.ts";
import { TokenDoor } from "./token-door.ts";

const { signal } = new AbortController();

/** An API server that knows the tokens that begin with `good`, and answers when it is told to. */
function apiServer() {
  const waiting: (() => void)[] = [];
  const server = { reviews: 0, answers: true };
  const request = async (_method: string, _path: string, { body }: { body: { spec: { token: string } } }) => {
    server.reviews += 1;
    if (!server.answers) await new Promise<void>((resolve) => waiting.push(resolve));
    const { token } = body.spec;
    return { status: token.startsWith("good") ? { authenticated: true, user: { username: token } } : {} };
  };
  const door = new TokenDoor({ request } as unknown as KubeClient);
  const enter = async (token: string, from = "10.0.0.1") => {
    const { user } = await door.viewerOf({ authorization: `Bearer ${token}`, from }, signal);
    return user;
  };
  return Object.assign(server, {
    door,
    enter,
    answer() {
      server.answers = true;
      for (const resolve of waiting.splice(0)) resolve();
    },
  });
}

test("a crowd of wrong tokens is not passed on to the API server all at once, and drives out nobody who was let in", async () => {
  const server = apiServer();
  await server.enter("good");
  server.answers = false;
  const crowd = Array.from({ length: 500 }, (_, nth) => server.enter(`bad${nth}`, `10.1.${nth >> 8}.${nth & 255}`).catch(() => undefined));
  await new Promise((resolve) => setImmediate(resolve));
  expect(server.reviews).toBeLessThanOrEqual(65);
  expect(await server.enter("good")).toBe("good");
  server.answer();
  await Promise.all(crowd);
  expect(await server.enter("good")).toBe("good");
});

test("a token is in the cookie as a browser was given it", async () => {
  const { door } = apiServer();
  const cookie = `theme=dark; ${door.cookie}=${encodeURIComponent("good+/token==")}`;
  const { user } = await door.viewerOf({ cookie, from: "10.0.0.1" }, signal);
  expect(user).toBe("good+/token==");
  await expect(door.viewerOf({ cookie: `${door.cookie}=%`, from: "10.0.0.1" }, signal)).rejects.toMatchObject({ code: "NoToken" });
});
