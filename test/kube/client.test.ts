import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { ConfigMap } from "../../src/api/core/config-map.ts";
import { Namespace } from "../../src/api/core/namespace.ts";
import { Service } from "../../src/api/core/service.ts";
import { accessFromKubeconfig, accessInCluster } from "../../src/kube/client/access.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import type { Page } from "../../src/kube/client/resource-client.ts";
import { createAuthority, issue } from "../../src/kube/x509.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";

const { signal } = new AbortController();
const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
const authority = createAuthority({ commonName: "clients of the lab", ...validity });

let api: SuiteApiServer;
let client: KubeClient;
let directory: string;
const clients: KubeClient[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "client-test-"));
  const clientCa = join(directory, "clients.crt");
  await writeFile(clientCa, authority.certificate);
  api = await apiServer("client", { flags: [`--client-ca-file=${clientCa}`] });
  client = new KubeClient(api.access);
  clients.push(client);
});

afterAll(async () => {
  vi.unstubAllEnvs();
  for (const client of clients) client.close();
  await api.stop();
  await rm(directory, { recursive: true });
});

/** A client that authenticates as the user stanza says. */
async function clientWith(user: object): Promise<KubeClient> {
  const path = join(directory, "config");
  const config = {
    "current-context": "lab",
    contexts: [{ name: "lab", context: { cluster: "lab", user: "user" } }],
    clusters: [{ name: "lab", cluster: { server: api.server.url, "certificate-authority": await api.server.writeCa() } }],
    users: [{ name: "user", user }],
  };
  await writeFile(path, JSON.stringify(config));
  const client = new KubeClient(await accessFromKubeconfig({ path }));
  clients.push(client);
  return client;
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

async function whoAmI(client: KubeClient): Promise<string> {
  const review = await client.request<{ status: { userInfo: { username: string } } }>(
    "POST",
    "/apis/authentication.k8s.io/v1/selfsubjectreviews",
    {
      signal,
      body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
    },
  );
  return review.status.userInfo.username;
}

test("a token, inline or in a file, is believed", async () => {
  expect(await whoAmI(await clientWith({ token: api.server.token("unprivileged") }))).toBe("plumbline:unprivileged");
  await writeFile(join(directory, "token"), `${api.server.token("unprivileged")}\n`);
  expect(await whoAmI(await clientWith({ tokenFile: "token" }))).toBe("plumbline:unprivileged");
});

test("a client certificate, inline or in files, is believed; one of another authority is not", async () => {
  const ann = issue(authority, { commonName: "ann", organizations: ["staff"], usage: "client", ...validity });
  expect(
    await whoAmI(await clientWith({ "client-certificate-data": base64(ann.certificate), "client-key-data": base64(ann.privateKey) })),
  ).toBe("ann");
  await writeFile(join(directory, "ann.crt"), ann.certificate);
  await writeFile(join(directory, "ann.key"), ann.privateKey);
  expect(await whoAmI(await clientWith({ "client-certificate": "ann.crt", "client-key": "ann.key" }))).toBe("ann");

  const stranger = issue(createAuthority({ commonName: "stranger", ...validity }), { commonName: "eve", usage: "client", ...validity });
  const eve = await clientWith({ "client-certificate-data": base64(stranger.certificate), "client-key-data": base64(stranger.privateKey) });
  await expect(whoAmI(eve)).rejects.toMatchObject({ code: "Unauthorized" });
});

test("an exec plugin's token is believed, and asked for again when the server refuses it", async () => {
  const plugin = join(directory, "plugin");
  await writeFile(join(directory, "given"), "worthless");
  await writeFile(
    plugin,
    `#!/bin/sh\nprintf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}' "$(cat "${directory}/given")"\n`,
  );
  await chmod(plugin, 0o755);
  const user = await clientWith({ exec: { apiVersion: "client.authentication.k8s.io/v1", command: "./plugin", interactiveMode: "Never" } });
  await expect(whoAmI(user)).rejects.toMatchObject({ code: "Unauthorized" });
  await writeFile(join(directory, "given"), api.server.token("unprivileged"));
  expect(await whoAmI(user)).toBe("plumbline:unprivileged");
});

test("in a pod, a token that rotates is followed as soon as the server refuses the old one", async () => {
  const account = join(directory, "serviceaccount");
  await mkdir(account);
  await writeFile(join(account, "ca.crt"), api.server.caPem);
  await writeFile(join(account, "namespace"), "default");
  await writeFile(join(account, "token"), "expired");
  vi.stubEnv("KUBERNETES_SERVICE_HOST", "127.0.0.1");
  vi.stubEnv("KUBERNETES_SERVICE_PORT", String(api.server.port));
  const pod = new KubeClient(await accessInCluster(account));
  clients.push(pod);
  await expect(whoAmI(pod)).rejects.toMatchObject({ code: "Unauthorized" });

  await client
    .resource({ group: "", version: "v1", kind: "ServiceAccount", plural: "serviceaccounts", scope: "Namespaced" })
    .create({ metadata: { name: "agent", namespace: "default" } }, { signal });
  const request = await client.request<{ status: { token: string } }>("POST", "/api/v1/namespaces/default/serviceaccounts/agent/token", {
    signal,
    body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 600 } },
  });
  await writeFile(join(account, "token"), request.status.token);
  expect(await whoAmI(pod)).toBe("system:serviceaccount:default:agent");
});

test("what RBAC forbids is refused in the server's words", async () => {
  const none = await clientWith({ token: api.server.token("unprivileged") });
  await expect(none.resource(Service).list({ signal })).rejects.toMatchObject({
    code: "Forbidden",
    status: 403,
    message:
      'services is forbidden: User "plumbline:unprivileged" cannot list resource "services" in API group "" at the cluster scope; a role must allow it',
  });
});

test("1200 objects come in three pages of one moment, each with its kind", async () => {
  const maps = client.resource(ConfigMap);
  await client.resource(Namespace).create({ metadata: { name: "many" } }, { signal });
  let next = 0;
  const create = async (): Promise<void> => {
    while (next < 1200) {
      const name = `map-${next++}`;
      await maps.create({ metadata: { name, namespace: "many", labels: { half: next % 2 === 0 ? "one" : "other" } } }, { signal });
    }
  };
  await Promise.all(Array.from({ length: 12 }, create));

  const pages: Page<ConfigMap>[] = [];
  for await (const page of maps.pages({ namespace: "many", signal })) pages.push(page);
  expect(pages.map(({ items }) => items.length)).toEqual([500, 500, 200]);
  expect(new Set(pages.map(({ resourceVersion }) => resourceVersion)).size).toBe(1);
  const { items } = await maps.list({ namespace: "many", signal });
  expect(new Set(items.map(({ metadata }) => metadata.name)).size).toBe(1200);
  expect(items.every(({ kind, apiVersion }) => kind === "ConfigMap" && apiVersion === "v1")).toBe(true);
  expect((await maps.list({ namespace: "many", labelSelector: "half=one", signal })).items).toHaveLength(600);
  expect((await maps.list({ namespace: "many", fieldSelector: "metadata.name=map-7", signal })).items).toHaveLength(1);
});

test("create, get, replace, patch and delete do what they say, and refuse what has moved on", async () => {
  const maps = client.resource(ConfigMap);
  const ref = { name: "course", namespace: "default" };
  const created = await maps.create({ metadata: ref, data: { a: "1", b: "2" } }, { signal, fieldManager: "tester" });
  await expect(maps.create({ metadata: ref }, { signal })).rejects.toMatchObject({ code: "AlreadyExists" });

  const replaced = await maps.replace({ ...created, data: { a: "2", b: "2" } }, { signal });
  expect(await maps.get("course", { namespace: "default", signal })).toEqual(replaced);
  await expect(maps.replace({ ...created, data: {} }, { signal })).rejects.toMatchObject({ code: "Conflict" });

  const patched = await maps.patch(
    ref,
    { data: { b: null, c: "3" } },
    { signal, resourceVersion: replaced.metadata.resourceVersion ?? "" },
  );
  expect(patched.data).toEqual({ a: "2", c: "3" });
  await expect(
    maps.patch(ref, { data: { a: "9" } }, { signal, resourceVersion: replaced.metadata.resourceVersion ?? "" }),
  ).rejects.toMatchObject({ code: "Conflict" });

  await expect(maps.delete(ref, { signal, uid: "00000000-0000-0000-0000-000000000000" })).rejects.toMatchObject({ code: "Conflict" });
  await expect(maps.delete(ref, { signal, resourceVersion: created.metadata.resourceVersion ?? "" })).rejects.toMatchObject({
    code: "Conflict",
  });
  await maps.delete(ref, { signal, uid: created.metadata.uid ?? "", resourceVersion: patched.metadata.resourceVersion ?? "" });
  await expect(maps.get("course", { namespace: "default", signal })).rejects.toMatchObject({
    code: "NotFound",
    details: { name: "course", kind: "configmaps" },
  });
});

test("a generated name is the server's to choose", async () => {
  const { metadata } = await client.resource(ConfigMap).create({ metadata: { generateName: "some-", namespace: "default" } }, { signal });
  expect(metadata.name).toMatch(/^some-.{5}$/);
});

test("an invalid object is refused with the fields that are wrong", async () => {
  const service = {
    metadata: { name: "web", namespace: "default" },
    spec: { type: "ClusterIP" as const, ports: [{ port: 70_000, protocol: "TCP" as const }] },
  };
  await expect(client.resource(Service).create(service, { signal })).rejects.toMatchObject({
    code: "Invalid",
    status: 422,
    details: { causes: [{ field: "spec.ports[0].port" }, expect.anything()] },
    message: expect.stringContaining("must be between 1 and 65535"),
  });
});

test("status is written apart from the rest", async () => {
  const services = client.resource(Service);
  const ref = { name: "status", namespace: "default" };
  const created = await services.create(
    { metadata: ref, spec: { type: "LoadBalancer", allocateLoadBalancerNodePorts: false, ports: [{ port: 80, protocol: "TCP" }] } },
    { signal },
  );
  const status = { loadBalancer: { ingress: [{ ip: "192.0.2.1", ipMode: "VIP" as const }] } };
  const patched = await services.patchStatus(
    ref,
    { status, spec: { sessionAffinity: "ClientIP" } },
    { signal, resourceVersion: created.metadata.resourceVersion ?? "" },
  );
  expect(patched.status).toEqual(status);
  expect(patched.spec.sessionAffinity).toBe("None");

  const replaced = await services.replaceStatus({ ...patched, status: { loadBalancer: {} } }, { signal });
  expect(replaced.status).toEqual({ loadBalancer: {} });
  await expect(services.replaceStatus(patched, { signal })).rejects.toMatchObject({ code: "Conflict" });
});

test("server-side apply repeats without a trace, and yields to another owner unless forced", async () => {
  const maps = client.resource(ConfigMap);
  const object = { metadata: { name: "applied", namespace: "default" }, data: { a: "1" } };
  const first = await maps.apply(object, { signal, fieldManager: "one" });
  expect((await maps.apply(first, { signal, fieldManager: "one" })).metadata.resourceVersion).toBe(first.metadata.resourceVersion);

  const theirs = { ...object, data: { a: "2" } };
  await expect(maps.apply(theirs, { signal, fieldManager: "two" })).rejects.toMatchObject({
    code: "Conflict",
    details: { causes: [{ field: ".data.a" }] },
  });
  expect((await maps.apply(theirs, { signal, fieldManager: "two", force: true })).data).toEqual({ a: "2" });
});

test("a watch brings all there is, the mark, and then what changes", async () => {
  const maps = client.resource(ConfigMap);
  await client.resource(Namespace).create({ metadata: { name: "watched" } }, { signal });
  await maps.create({ metadata: { name: "first", namespace: "watched" } }, { signal });
  const events: string[] = [];
  let managed = false;
  for await (const event of maps.watch({ namespace: "watched", sendInitialEvents: true, signal })) {
    events.push(event.type === "BOOKMARK" ? `${event.type} ${event.initialEventsEnd}` : `${event.type} ${event.object.metadata.name}`);
    if (event.type === "BOOKMARK") await maps.create({ metadata: { name: "second", namespace: "watched" } }, { signal });
    else managed ||= "managedFields" in event.object.metadata;
    if (events.at(-1) === "ADDED second") break;
  }
  expect(events).toEqual(["ADDED first", "BOOKMARK true", "ADDED second"]);
  expect(managed).toBe(false);
});
