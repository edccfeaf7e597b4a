import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Node } from "../../api/core/node.ts";
import { Service } from "../../api/core/service.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { TokenViewer } from "./token-viewer.ts";
import { UserAccess } from "./user-access.ts";

const { signal } = new AbortController();
const MINUTE = 60_000;

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** An API server that knows one token, and what its owner may list: `services`, `services in shop`. */
function apiServer() {
  const server = { allowed: ["services in shop"], valid: true, answers: true, reviewed: [] as string[] };
  const client = {
    request(_method: string, path: string, { body }: { body: { spec: { resourceAttributes: Record<string, string> } } }) {
      if (!server.answers) return Promise.reject(new Error("connection refused"));
      if (path.endsWith("tokenreviews")) {
        server.reviewed.push("token");
        return Promise.resolve({ status: server.valid ? { authenticated: true, user: { username: "ada" } } : {} });
      }
      const { resource, namespace } = body.spec.resourceAttributes;
      const refText = namespace === undefined ? `${resource}` : `${resource} in ${namespace}`;
      server.reviewed.push(refText);
      return Promise.resolve({ status: { allowed: server.allowed.includes(refText) } });
    },
  };
  const ada = new UserAccess(client as unknown as KubeClient, { username: "ada" });
  const viewerWith = (token: string) => new TokenViewer(client as unknown as KubeClient, token, { username: "ada" }, () => ada);
  return Object.assign(server, { viewer: viewerWith("secret"), viewerWith });
}

const inShop = { kind: Service, namespace: "shop" };
const inVault = { kind: Service, namespace: "vault" };

test("what someone may list is asked once a minute, and of a namespace only where he may not list everywhere", async () => {
  const { viewer, reviewed, ...server } = apiServer();
  expect(viewer.may(inShop)).toBe(false);
  await viewer.learn([inShop, inVault, { kind: Node }], signal);
  expect(reviewed.toSorted()).toEqual(["nodes", "services", "services in shop", "services in vault"]);
  expect([viewer.may(inShop), viewer.may(inVault), viewer.may({ kind: Service }), viewer.may({ kind: Node })]).toEqual([
    true,
    false,
    false,
    false,
  ]);
  await viewer.learn([inShop, inVault], signal);
  expect(reviewed).toHaveLength(4);
  server.allowed.push("services");
  vi.advanceTimersByTime(MINUTE);
  await viewer.learn([inShop, inVault], signal);
  expect(reviewed.slice(4)).toEqual(["token", "services"]);
  expect(viewer.may(inVault)).toBe(true);
});

test("that someone may see more or less than before is another version, and that something is asked for the first time is none", async () => {
  const { viewer, allowed } = apiServer();
  await viewer.learn([inShop], signal);
  await viewer.learn([inVault], signal);
  expect(viewer.version).toBe(0);
  allowed.length = 0;
  vi.advanceTimersByTime(MINUTE);
  await viewer.learn([inShop], signal);
  expect(viewer.version).toBe(1);
  expect(viewer.may(inShop)).toBe(false);
});

test("a token that has ended lets nobody look after a minute", async () => {
  const server = apiServer();
  await server.viewer.learn([inShop], signal);
  server.valid = false;
  await server.viewer.learn([inShop], signal);
  vi.advanceTimersByTime(MINUTE);
  await expect(server.viewer.learn([inShop], signal)).rejects.toMatchObject({ code: "Rejected", status: 401 });
});

test("while the API server cannot be asked its last word holds, but not for ever, and who was never asked about sees nothing", async () => {
  const server = apiServer();
  await server.viewer.learn([inShop], signal);
  server.answers = false;
  vi.advanceTimersByTime(5 * MINUTE);
  await server.viewer.learn([inShop], signal);
  expect(server.viewer.may(inShop)).toBe(true);
  vi.advanceTimersByTime(5 * MINUTE);
  await expect(server.viewer.learn([inShop], signal)).rejects.toMatchObject({ code: "Unreachable", status: 503 });
  const fresh = apiServer();
  fresh.answers = false;
  await expect(fresh.viewer.learn([inShop], signal)).rejects.toMatchObject({ code: "Unreachable" });
});

test("requests that come at once, also with another token of the same user, share one review per kind and namespace", async () => {
  const { viewer, viewerWith, reviewed } = apiServer();
  const other = viewerWith("another");
  await Promise.all(Array.from({ length: 50 }, (_, nth) => (nth % 2 ? viewer : other).learn([inShop, inVault, { kind: Node }], signal)));
  expect(reviewed.toSorted()).toEqual(["nodes", "services", "services in shop", "services in vault"]);
  expect([viewer.may(inShop), other.may(inShop), other.may(inVault)]).toEqual([true, true, false]);
  vi.advanceTimersByTime(MINUTE);
  await Promise.all(Array.from({ length: 50 }, () => viewer.learn([inShop], signal)));
  expect(reviewed.slice(4).toSorted()).toEqual(["services", "services in shop", "token"]);
});

test("who has gone keeps nobody waiting who has asked for the same", async () => {
  const { viewer, reviewed } = apiServer();
  const gone = new AbortController();
  const first = viewer.learn([inShop], gone.signal);
  const second = viewer.learn([inShop], signal);
  gone.abort(new Error("gone"));
  await expect(first).rejects.toThrow("gone");
  await second;
  expect([viewer.may(inShop), reviewed]).toEqual([true, ["services", "services in shop"]]);
});

test("of more namespaces than are asked about the viewer is told that something is missing, until there are fewer", async () => {
  const { viewer, reviewed } = apiServer();
  const many = Array.from({ length: 2_100 }, (_, nth) => ({ kind: Service, namespace: `n${nth}` }));
  await viewer.learn(many, signal);
  expect(reviewed).toHaveLength(2_000);
  expect([viewer.isIncomplete, viewer.version]).toEqual([true, 1]);
  vi.advanceTimersByTime(2 * MINUTE);
  await viewer.learn(many.slice(0, 100), signal);
  expect(viewer.isIncomplete).toBe(false);
});
