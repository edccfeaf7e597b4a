import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Kind, KubeObject } from "../../src/api/kind.ts";
import { ConfigurationState } from "../../src/api/metallb/configuration-state.ts";
import { BalancedCluster, eventually, METALLB, type Running } from "./fixtures/balanced-cluster.ts";

const { signal } = new AbortController();
let cluster: BalancedCluster;
let controller: Running;

beforeAll(async () => {
  cluster = await BalancedCluster.start("lb-outage");
  controller = cluster.controller("controller");
});
afterAll(async () => {
  await controller.stop();
  await cluster.stop();
});

const NAMES = Array.from({ length: 6 }, (_, nth) => `web-${nth}`);
const all = () => Promise.all(NAMES.map((name) => cluster.addresses(name)));

test("an API server outage, also one that returns with old data, changes no address and causes no write", async () => {
  await cluster.pool("steady", ["192.0.2.0/24"]);
  for (const name of NAMES) await cluster.service(name);
  await eventually(async () => {
    for (const addresses of await all()) expect(addresses).toHaveLength(1);
    for (const name of NAMES) expect((await cluster.readService(name)).status?.conditions).toHaveLength(1);
  });
  await eventually(async () => expect((await cluster.readPool("steady")).status?.assignedIPV4).toBe(6));
  const before = await all();
  const written = (await cluster.writes("controller")).length;

  await cluster.api.server.kill();
  await sleep(3_000);
  await cluster.api.server.restart();
  await cluster.service("after");
  await eventually(async () => expect(await cluster.addresses("after")).toHaveLength(1));
  expect(await all()).toEqual(before);
  const services = (await cluster.writes("controller")).slice(written).filter((write) => write.includes("services/web-"));
  expect(services).toEqual([]);
});

test("pools that cannot be read for a while change no address and no result", async () => {
  const before = await all();
  const crd: Kind<KubeObject & { spec: { versions: { served: boolean }[] } }> = {
    group: "apiextensions.k8s.io",
    version: "v1",
    kind: "CustomResourceDefinition",
    plural: "customresourcedefinitions",
    scope: "Cluster",
  };
  const crds = cluster.client.resource(crd);
  const serve = async (served: boolean) => {
    const { spec } = await crds.get("ipaddresspools.metallb.io", { signal });
    await crds.patch(
      { name: "ipaddresspools.metallb.io" },
      { spec: { versions: spec.versions.map((one) => Object.assign({}, one, { served })) } },
      { signal },
    );
  };
  await serve(false);
  await sleep(3_000);
  // Something that has everything looked at again.
  for (const name of NAMES) await cluster.editService(name, { metadata: { labels: { touched: "yes" } } });
  await sleep(1_000);
  expect(await all()).toEqual(before);
  const { status } = await cluster.client.resource(ConfigurationState).get("controller", { namespace: METALLB, signal });
  expect(status?.result).toBe("Valid");
  await serve(true);
  await cluster.service("again");
  await eventually(async () => expect(await cluster.addresses("again")).toHaveLength(1));
  expect(await all()).toEqual(before);
});
