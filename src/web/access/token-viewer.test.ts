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

test("list permissions are reviewed once a minute, per namespace only if the viewer may not list all", async () => {
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

test("changed permissions are a new version, and a first review is not", async () => {
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

test("an expired token is rejected after a minute", async () => {
  const server = apiServer();
  await server.viewer.learn([inShop], signal);
  server.valid = false;
  await server.viewer.learn([inShop], signal);
  vi.advanceTimersByTime(MINUTE);
  await expect(server.viewer.learn([inShop], signal)).rejects.toMatchObject({ code: "Rejected", status: 401 });
});

test("during an API server outage the last reviews count for a limited time, and viewers without a review see nothing", async () => {
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

test("concurrent requests, also with another token of the same user, share one review per kind and namespace", async () => {
  const { viewer, viewerWith, reviewed } = apiServer();
  const other = viewerWith("another");
  await Promise.all(Array.from({ length: 50 }, (_, nth) => (nth % 2 ? viewer : other).learn([inShop, inVault, { kind: Node }], signal)));
  expect(reviewed.toSorted()).toEqual(["nodes", "services", "services in shop", "services in vault"]);
  expect([viewer.may(inShop), other.may(inShop), other.may(inVault)]).toEqual([true, true, false]);
  vi.advanceTimersByTime(MINUTE);
  await Promise.all(Array.from({ length: 50 }, () => viewer.learn([inShop], signal)));
  expect(reviewed.slice(4).toSorted()).toEqual(["services", "services in shop", "token"]);
});

test("an aborted request does not block others that share its review", async () => {
  const { viewer, reviewed } = apiServer();
  const gone = new AbortController();
  const first = viewer.learn([inShop], gone.signal);
  const second = viewer.learn([inShop], signal);
  gone.abort(new Error("gone"));
  await expect(first).rejects.toThrow("gone");
  await second;
  expect([viewer.may(inShop), reviewed]).toEqual([true, ["services", "services in shop"]]);
});

test("a viewer with too many namespaces to review is told that data is missing, until there are fewer", async () => {
  const { viewer, reviewed } = apiServer();
  const many = Array.from({ length: 2_100 }, (_, nth) => ({ kind: Service, namespace: `n${nth}` }));
  await viewer.learn(many, signal);
  expect(reviewed).toHaveLength(2_000);
  expect([viewer.isIncomplete, viewer.version]).toEqual([true, 1]);
  vi.advanceTimersByTime(2 * MINUTE);
  await viewer.learn(many.slice(0, 100), signal);
  expect(viewer.isIncomplete).toBe(false);
});
