import { expect, onTestFinished, test, vi } from "vitest";
import type { KubeClient } from "../../kube/client/client.ts";
import type { LoginError } from "./viewer.ts";
import { TokenLogin } from "./login.ts";

const { signal } = new AbortController();

/** An API server that knows the tokens that begin with `good`, and answers when it is told to. */
function apiServer() {
  const waiting: { resolve: () => void; reject: (error: Error) => void }[] = [];
  const server = { reviews: 0, answers: true };
  const request = async (_method: string, _path: string, { body }: { body: { spec: { token: string } } }) => {
    server.reviews += 1;
    if (!server.answers) await new Promise<void>((resolve, reject) => waiting.push({ resolve, reject }));
    const { token } = body.spec;
    return { status: token.startsWith("good") ? { authenticated: true, user: { username: token } } : {} };
  };
  const door = new TokenLogin({ request } as unknown as KubeClient);
  const enter = async (token: string, from = "10.0.0.1") => {
    const { user } = await door.viewerOf({ authorization: `Bearer ${token}`, from }, signal);
    return user;
  };
  return Object.assign(server, {
    door,
    enter,
    answer() {
      server.answers = true;
      for (const { resolve } of waiting.splice(0)) resolve();
    },
    fail() {
      for (const { reject } of waiting.splice(0)) reject(new Error("deadline passed"));
    },
  });
}

test("many wrong tokens are not sent to the API server at once, and do not evict accepted ones", async () => {
  const server = apiServer();
  await server.enter("good");
  server.answers = false;
  const crowd = Array.from({ length: 500 }, (_, nth) => server.enter(`bad${nth}`, `10.1.${nth >> 8}.${nth & 255}`).catch(() => undefined));
  await new Promise((resolve) => setImmediate(resolve));
  expect(server.reviews).toBeLessThanOrEqual(5);
  expect(await server.enter("good")).toBe("good");
  server.answer();
  await Promise.all(crowd);
  expect(await server.enter("good")).toBe("good");
});

test("wrong tokens during slow reviews leave capacity for other logins, and are counted before they are answered", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const server = apiServer();
  server.answers = false;
  const wrong = Array.from({ length: 20 }, (_, nth) => server.enter(`bad${nth}`, "10.9.9.9").catch((error: LoginError) => error.code));
  await new Promise((resolve) => setImmediate(resolve));
  const good = server.enter("good", "10.0.0.2");
  server.fail();
  expect((await Promise.all(wrong)).toSorted()).toEqual([...Array<string>(18).fill("TooMany"), "Unreachable", "Unreachable"]);
  await expect(good).rejects.toMatchObject({ code: "Unreachable" });
  server.answers = true;
  for (let nth = 2; nth < 10; nth += 1) await expect(server.enter(`bad${nth}`, "10.9.9.9")).rejects.toMatchObject({ code: "Rejected" });
  await expect(server.enter("good", "10.9.9.9")).rejects.toMatchObject({ code: "TooMany" });
  expect(await server.enter("good", "10.0.0.2")).toBe("good");
});

test("at most eight requests wait for one token", async () => {
  const server = apiServer();
  server.answers = false;
  const asking = Array.from({ length: 20 }, () => server.enter("good").catch((error: LoginError) => error.code));
  await new Promise((resolve) => setImmediate(resolve));
  server.answer();
  expect((await Promise.all(asking)).filter((one) => one === "good")).toHaveLength(8);
  expect(server.reviews).toBe(1);
});

test("the token of the cookie is decoded as it was set", async () => {
  const { door } = apiServer();
  const cookie = `theme=dark; ${door.cookie}=${encodeURIComponent("good+/token==")}`;
  const { user } = await door.viewerOf({ cookie, from: "10.0.0.1" }, signal);
  expect(user).toBe("good+/token==");
  await expect(door.viewerOf({ cookie: `${door.cookie}=%`, from: "10.0.0.1" }, signal)).rejects.toMatchObject({ code: "NoToken" });
});
