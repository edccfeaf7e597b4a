import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ConfigMap } from "../api/core/config-map.ts";
import { L3VNI } from "../api/openpe/l3vni.ts";
import { Cache } from "../kube/cache/cache.ts";
import { fixedAccess } from "../kube/client/access.ts";
import { KubeClient } from "../kube/client/client.ts";
import { isKubeError } from "../kube/client/error.ts";
import { createLog } from "../kube/log.ts";
import { startEmbedded, type Embedded } from "./embedded.ts";

let directory: string;
let embedded: Embedded;
let client: KubeClient;
const signal = AbortSignal.timeout(60_000);
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

test("a cache follows a collection, whole pages of it and every change", async () => {
  const maps = client.resource(ConfigMap);
  for (let at = 0; at < 20; at++) await maps.create({ metadata: { name: `m${at}`, namespace: "default" } }, { signal });
  const cache = new Cache(client, ConfigMap);
  const stopped = new AbortController();
  cache.start(stopped.signal);
  await cache.waitForSync(signal);
  expect(cache.size).toBe(20);
  await maps.patch({ name: "m3", namespace: "default" }, { data: { a: "b" } }, { signal });
  await maps.delete({ name: "m4", namespace: "default" }, { signal });
  await vi.waitFor(() => expect([cache.get("default/m3")?.data, cache.size]).toEqual([{ a: "b" }, 19]));
  stopped.abort();
});
