import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ConfigMap } from "../../src/api/core/config-map.ts";
import { Event } from "../../src/api/core/event.ts";
import { L3VNI } from "../../src/api/openpe/l3vni.ts";
import { Cache } from "../../src/kube/cache/cache.ts";
import { fixedAccess } from "../../src/kube/testing/fixed-access.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { isKubeError } from "../../src/kube/client/error.ts";
import { createLog } from "../../src/kube/log.ts";
import { startEmbedded, type Embedded } from "../../src/embedded/embedded.ts";

let directory: string;
let embedded: Embedded;
let client: KubeClient;
const signal = AbortSignal.timeout(10 * 60_000);
const log = createLog({ level: "silent" });

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "plumbline-embedded-"));
  embedded = await startEmbedded({ directory, log });
  client = new KubeClient(fixedAccess(`unix:${embedded.socket}`));
});
afterEach(async () => {
  client.close();
  await embedded.stop();
  await rm(directory, { recursive: true });
});

test("our own client creates, reads, patches, lists and deletes over the socket, which only its owner may use", async () => {
  expect(((await stat(embedded.socket)).mode & 0o777).toString(8)).toBe("600");
  const vnis = client.resource(L3VNI);
  const metadata = { name: "red", namespace: "default" };
  const created = await vnis.create({ metadata, spec: { vrf: "red", vni: 100, vxlanport: 4789 } }, { signal });
  expect(created.spec.vxlanport).toBe(4789);
  const claims = [{ claim: "vni/100", since: "2026-01-01T00:00:00Z" }];
  const patched = await vnis.patchStatus(
    metadata,
    { status: { claims } },
    { resourceVersion: created.metadata.resourceVersion ?? "", signal },
  );
  expect(patched.status).toEqual({ claims });
  expect((await vnis.list({ namespace: "default", signal })).items).toEqual([patched]);
  await vnis.delete(metadata, { uid: patched.metadata.uid ?? "", signal });
  await expect(vnis.get("red", { namespace: "default", signal })).rejects.toSatisfy((error) => isKubeError(error, "NotFound"));
});

test("a cache follows a collection through pages and changes", async () => {
  const maps = client.resource(ConfigMap);
  for (let at = 0; at < 20; at++) await maps.create({ metadata: { name: `m${at}`, namespace: "default" } }, { signal });
  const cache = new Cache(client, ConfigMap);
  const stopped = new AbortController();
  cache.start(stopped.signal);
  await cache.waitForSync(signal);
  expect(cache.size).toBe(20);
  await maps.patch({ name: "m3", namespace: "default" }, { data: { a: "b" } }, { signal });
  await maps.delete({ name: "m4", namespace: "default" }, { signal });
  await vi.waitFor(() => expect([cache.get("default/m3")?.data, cache.size]).toEqual([{ a: "b" }, 19]), 30_000);
  stopped.abort();
});

const manifest = (vni: number) =>
  `apiVersion: openpe.openperouter.github.io/v1alpha1\nkind: L3VNI\nmetadata:\n  name: red\n  namespace: shop\nspec:\n  vrf: red\n  vni: ${vni}\n`;
const write = (text: string) => writeFile(join(directory, "vnis.yaml"), text);
const red = { name: "red", namespace: "shop" };
const vni = async () => (await client.resource(L3VNI).get("red", { namespace: "shop", signal })).spec.vni;
const eventually = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 60_000, interval: 50 });

async function restart(): Promise<void> {
  client.close();
  await embedded.stop();
  embedded = await startEmbedded({ directory, log });
  client = new KubeClient(fixedAccess(`unix:${embedded.socket}`));
}

describe("files", () => {
  test("become objects and follow edits, and objects of programs survive a restart", async () => {
    await write(manifest(100));
    await restart();
    expect(await vni()).toBe(100);
    const claims = [{ claim: "vni/100", since: "2026-01-01T00:00:00Z" }];
    await client.resource(L3VNI).patchStatus(red, { status: { claims } }, { signal });
    await write(manifest(200));
    await eventually(async () => expect(await vni()).toBe(200));
    await restart();
    const { spec, status } = await client.resource(L3VNI).get("red", { namespace: "shop", signal });
    expect([spec.vni, status]).toEqual([200, { claims }]);
    await rm(join(directory, "vnis.yaml"));
    await eventually(async () => {
      await expect(client.resource(L3VNI).get("red", { namespace: "shop", signal })).rejects.toSatisfy((error) =>
        isKubeError(error, "NotFound"),
      );
    });
  });

  test("with errors are reported with their line, as a problem and as an Event, and the last good version stays", async () => {
    await write(manifest(100));
    await restart();
    await write(manifest(0));
    const message = "spec.vni: Invalid value: 0: spec.vni in body should be greater than or equal to 1";
    await eventually(async () => expect(embedded.problems()).toMatchObject([{ path: "vnis.yaml", line: 8, level: "error", message }]));
    expect(await vni()).toBe(100);
    const { items } = await client.request<{ items: object[] }>("GET", "/plumbline/v1/problems", { signal });
    expect(items).toEqual([{ path: "vnis.yaml", line: 8, column: expect.any(Number) as number, level: "error", message }]);
    const events = await client.resource(Event).list({ namespace: "shop", signal });
    expect(events.items).toMatchObject([
      {
        type: "Warning",
        reason: "ManifestRefused",
        involvedObject: { kind: "L3VNI", ...red },
        message: expect.stringContaining(`vnis.yaml:8:`) as string,
      },
    ]);
    await write(manifest(300));
    await eventually(async () => expect([await vni(), embedded.problems()]).toEqual([300, []]));
  });

  test("own their objects: a delete names file and line, and a change is an override that can be reset", async () => {
    await write(`# ours\n${manifest(100)}`);
    await restart();
    await expect(client.resource(L3VNI).delete(red, { signal })).rejects.toThrow(/it is in vnis\.yaml:2; remove it there/);
    await client.resource(L3VNI).patch(red, { spec: { vni: 7 } }, { signal });
    const query = { resource: "l3vnis.openpe.openperouter.github.io", ...red };
    const declaration = await client.request("GET", "/plumbline/v1/declaration", { query, signal });
    expect(declaration).toEqual({
      manifest: expect.objectContaining({ kind: "L3VNI" }) as unknown,
      source: { path: "vnis.yaml", line: 2 },
      overrides: [{ field: "spec.vni", declared: 100, current: 7 }],
    });
    await client.request("DELETE", "/plumbline/v1/overrides", { query, signal });
    expect(await vni()).toBe(100);
    await client
      .resource(L3VNI)
      .create({ metadata: { name: "free", namespace: "shop" }, spec: { vrf: "b", vni: 8, vxlanport: 4789 } }, { signal });
    await expect(client.request("GET", "/plumbline/v1/declaration", { query: { ...query, name: "free" }, signal })).rejects.toSatisfy(
      (error) => isKubeError(error, "NotFound"),
    );
    await expect(client.request("GET", "/plumbline/v1/declaration", { query: { resource: "things" }, signal })).rejects.toThrow(
      "resource=things is not served here",
    );
  });
});

test("objects that users create through the API are kept in files, and deleted with them", async () => {
  const path = "/apis/openpe.openperouter.github.io/v1alpha1/namespaces/default/l3vnis";
  const body = {
    apiVersion: "openpe.openperouter.github.io/v1alpha1",
    kind: "L3VNI",
    metadata: { name: "blue" },
    spec: { vrf: "blue", vni: 9 },
  };
  await client.request("POST", path, { body, query: { fieldManager: "kubectl-create" }, signal });
  const applied = join(directory, "applied");
  const [name = ""] = await readdir(applied);
  expect(await readFile(join(applied, name), "utf8")).toContain("vni: 9");
  await restart();
  expect((await client.resource(L3VNI).get("blue", { namespace: "default", signal })).spec.vni).toBe(9);
  await client.resource(L3VNI).delete({ name: "blue", namespace: "default" }, { signal });
  expect(await readdir(applied)).toEqual([]);
  await restart();
  expect((await client.resource(L3VNI).list({ signal })).items).toEqual([]);
});

const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);

test("Secrets created through the API are in files that only their owner can read, also those of an earlier version", async () => {
  const body = { apiVersion: "v1", kind: "Secret", metadata: { name: "tor" }, stringData: { password: "of-the-fabric" } };
  const create = () =>
    client.request("POST", "/api/v1/namespaces/default/secrets", { body, query: { fieldManager: "kubectl-create" }, signal });
  await create();
  const applied = join(directory, "applied");
  const [name = ""] = await readdir(applied);
  const file = join(applied, name);
  expect([await modeOf(applied), await modeOf(file)]).toEqual(["700", "600"]);
  await chmod(applied, 0o755);
  await chmod(file, 0o644);
  await restart();
  expect([await modeOf(applied), await modeOf(file)]).toEqual(["700", "600"]);
});

test("a manifest with a secret that all users can read is a problem until its mode changes", async () => {
  await chmod(directory, 0o755);
  const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: tor, namespace: default}\nstringData: {password: x}\n";
  const file = join(directory, "secret.yaml");
  await writeFile(file, secret, { mode: 0o644 });
  await eventually(async () => expect(embedded.problems()).toHaveLength(1));
  const message = "Secret tor contains a secret, and the file is readable by every user; run: chmod 600 secret.yaml";
  expect(embedded.problems()).toMatchObject([{ path: "secret.yaml", line: 1, level: "warning", message }]);
  await chmod(file, 0o600);
  await eventually(async () => expect(embedded.problems()).toEqual([]));
});

const start = (of: string) => startEmbedded({ directory: of, log }).then((started) => started.stop());

test("a state directory that others can write, or that another user owns, is rejected", async () => {
  const open = await mkdtemp(join(directory, "open-"));
  await mkdir(join(open, ".plumbline"));
  await chmod(join(open, ".plumbline"), 0o755);
  await expect(start(open)).rejects.toThrow(/\.plumbline has mode 755, so other users can access it/);
  await chmod(join(open, ".plumbline"), 0o700);
  await start(open);
  // Only root can give a directory away, and only to it does another's matter.
  await chown(join(open, ".plumbline"), 65_534, 65_534);
  await expect(start(open)).rejects.toThrow(/\.plumbline belongs to user 65534 but plumbline runs as user 0/);
});

test("an object whose file returns while a finalizer blocks its deletion is created again afterwards", async () => {
  await write(manifest(100).replace("name: red", "name: red\n  finalizers: [example.com/hold]"));
  await restart();
  const { metadata } = await client.resource(L3VNI).get("red", { namespace: "shop", signal });
  await rm(join(directory, "vnis.yaml"));
  await eventually(async () => {
    const deleting = await client.resource(L3VNI).get("red", { namespace: "shop", signal });
    expect(deleting.metadata.deletionTimestamp).toBeDefined();
  });
  await write(manifest(300));
  await eventually(async () => expect(await vni()).toBe(300));
  await client.resource(L3VNI).patch(red, { metadata: { finalizers: null } }, { signal });
  await eventually(async () => {
    const recreated = await client.resource(L3VNI).get("red", { namespace: "shop", signal });
    expect([recreated.metadata.uid === metadata.uid, recreated.spec.vni]).toEqual([false, 300]);
  });
});

test("a second process on the same directory fails with the name of the first, which keeps running", async () => {
  await expect(startEmbedded({ directory, log })).rejects.toThrow(
    new RegExp(`is in use by plumbline up \\(process ${process.pid}\\) since`),
  );
  expect((await client.resource(ConfigMap).list({ signal })).items).toEqual([]);
});

test("a directory whose socket path is too long is rejected with an error", async () => {
  const deep = join(directory, "x".repeat(60), "y".repeat(60));
  await mkdir(deep, { recursive: true });
  await expect(startEmbedded({ directory: deep, log })).rejects.toThrow(
    /has \d+ bytes, the limit is 107; use a directory with a shorter path/,
  );
  await expect(startEmbedded({ directory: await mkdtemp(join(tmpdir(), "p-")), listen: "nonsense", log })).rejects.toThrow(
    "--listen nonsense is not an address with a port; use 127.0.0.1:6443, [::1]:6443 or :6443",
  );
});

test("a damaged state is a problem", async () => {
  await client.resource(ConfigMap).create({ metadata: { name: "m", namespace: "default" }, data: { a: "b" } }, { signal });
  client.close();
  await embedded.stop();
  const path = join(directory, ".plumbline", "state.log");
  await writeFile(path, (await readFile(path, "utf8")).replace('"a":"b"', '"a":"?"'));
  embedded = await startEmbedded({ directory, log });
  client = new KubeClient(fixedAccess(`unix:${embedded.socket}`));
  expect(embedded.problems()).toMatchObject([
    { path, message: expect.stringMatching(/^record \(configmaps default\/m\) is damaged and lost/) as string },
  ]);
  expect((await client.resource(ConfigMap).list({ signal })).items).toEqual([]);
});
