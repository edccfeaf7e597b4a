import { expect, test } from "vitest";
import { ConfigMap } from "../../api/core/config-map.ts";
import { useScripted } from "../testing/scripted-client.ts";
import { answer, statusError, type ScriptedStep } from "../testing/scripted-server.ts";

const { signal } = new AbortController();
const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "shop", resourceVersion: "7" } };
const { scripted, clientOf } = useScripted();

test("a base path of the server URL is kept", async () => {
  const server = await scripted(answer(200, {}));
  await clientOf({ url: `${server.url}/k8s/clusters/c-1/` }).request("GET", "/version?verbose=1", { signal, query: { timeout: "5s" } });
  expect(server.received[0]?.path).toBe("/k8s/clusters/c-1/version");
  expect(server.received[0]?.query.toString()).toBe("verbose=1&timeout=5s");
});

const page = (names: string[], next?: string): ScriptedStep =>
  answer(200, {
    metadata: { resourceVersion: "9", ...(next ? { continue: next } : {}) },
    items: names.map((name) => ({ metadata: { name } })),
  });

test("a list follows its pages at the resourceVersion of the first, and sets the kind of every item", async () => {
  const server = await scripted(page(["a", "b"], "token"), page(["c"]));
  const { items, resourceVersion } = await clientOf(server)
    .resource(ConfigMap)
    .list({ signal, labelSelector: "app=x", fieldSelector: "metadata.name!=z", resourceVersion: "5", limit: 2 });
  expect(resourceVersion).toBe("9");
  expect(items.map((item) => [item.apiVersion, item.kind, item.metadata.name])).toEqual(
    ["a", "b", "c"].map((name) => ["v1", "ConfigMap", name]),
  );
  expect(server.received.map(({ path, query }) => [path, query.toString()])).toEqual([
    ["/api/v1/configmaps", "labelSelector=app%3Dx&fieldSelector=metadata.name%21%3Dz&limit=2&resourceVersion=5"],
    ["/api/v1/configmaps", "labelSelector=app%3Dx&fieldSelector=metadata.name%21%3Dz&limit=2&continue=token"],
  ]);
});

const item = (name: string): object => ({ metadata: { name } });

test("a list whose continue token expires is read again in one request", async () => {
  const server = await scripted(
    answer(200, { metadata: { resourceVersion: "9", continue: "token" }, items: [item("a")] }),
    statusError(410, "Expired"),
    answer(200, { metadata: { resourceVersion: "12" }, items: [item("a"), item("b")] }),
  );
  const { items, resourceVersion } = await clientOf(server).resource(ConfigMap).list({ signal });
  expect([items.length, resourceVersion]).toEqual([2, "12"]);
  expect(server.received[2]?.query.has("limit")).toBe(false);
});

test("writes carry their preconditions, content type and manager", async () => {
  const server = await scripted(answer(200, map));
  const maps = clientOf(server).resource(ConfigMap);
  await maps.patchStatus(map.metadata, { status: { ok: true } }, { signal, resourceVersion: "7", fieldManager: "me" });
  await maps.delete(map.metadata, { signal, uid: "u-1", resourceVersion: "7", propagationPolicy: "Foreground" });
  await maps.apply({ metadata: { ...map.metadata, managedFields: [{}] }, data: { k: "v" } }, { signal, fieldManager: "me", force: true });
  const [patch, remove, apply] = server.received;
  expect(patch).toMatchObject({
    method: "PATCH",
    path: "/api/v1/namespaces/shop/configmaps/a/status",
    body: { status: { ok: true }, metadata: { resourceVersion: "7" } },
  });
  expect(patch?.headers["content-type"]).toBe("application/merge-patch+json");
  expect(patch?.query.get("fieldManager")).toBe("me");
  expect(remove).toMatchObject({
    method: "DELETE",
    body: { preconditions: { uid: "u-1", resourceVersion: "7" }, propagationPolicy: "Foreground" },
  });
  expect(apply?.headers["content-type"]).toBe("application/apply-patch+yaml");
  expect(apply?.query.toString()).toBe("force=true&fieldManager=me");
  expect(apply?.body).toEqual({ apiVersion: "v1", kind: "ConfigMap", metadata: map.metadata, data: { k: "v" } });
});

test("invalid arguments are rejected before anything is sent", async () => {
  const server = await scripted(answer(200, map));
  const maps = clientOf(server).resource(ConfigMap);
  const unread = { ...map, metadata: { name: "a", namespace: "shop" } };
  await expect(maps.replace(unread, { signal })).rejects.toThrow("replace of ConfigMap a requires a resourceVersion");
  await expect(maps.get("a", { signal })).rejects.toThrow("ConfigMap a requested without a namespace");
  await expect(maps.delete({ name: "", namespace: "shop" }, { signal })).rejects.toThrow("ConfigMap requested without a name");
  expect(server.received).toHaveLength(0);
});
