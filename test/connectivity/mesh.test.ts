import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ConnectivityMesh } from "../../src/api/connectivity/connectivity-mesh.ts";
import { PodNetworkConnectivityCheck } from "../../src/api/connectivity/pod-network-connectivity-check.ts";
import { Service } from "../../src/api/core/service.ts";
import { retiredAnnotation } from "../../src/api/annotations.ts";
import { endpointOf, eventually, MeshedCluster, type Running, SYSTEM } from "./fixtures/meshed-cluster.ts";

const { signal } = new AbortController();
const [KAS, OAS, ETCD] = ["openshift-kube-apiserver", "openshift-apiserver", "openshift-etcd"] as const;
let cluster: MeshedCluster;
let controller: Running;

beforeAll(async () => {
  cluster = await MeshedCluster.start("mesh", KAS, OAS, ETCD, "shop", "crowd");
  controller = cluster.controller();
});
afterAll(async () => {
  await controller.stop();
  await cluster.stop();
});

const checks = () => cluster.client.resource(PodNetworkConnectivityCheck);
const retired = (all: readonly PodNetworkConnectivityCheck[]) =>
  all.filter(({ metadata }) => metadata.annotations?.[retiredAnnotation] !== undefined);

test("the shipped meshes create a check for each pair of goals 2 to 8 of the specification, and no other", async () => {
  const masters = [0, 1, 2];
  for (const n of masters) {
    await cluster.node(`master-${n}`, `192.0.2.1${n}`, { "node-role.kubernetes.io/master": "" });
    await cluster.pod(KAS, `kube-apiserver-master-${n}`, `master-${n}`, { apiserver: "true" });
    await cluster.pod(KAS, `installer-${n}`, `master-${n}`, { app: "installer" });
    await cluster.pod(OAS, `apiserver-7f9-${n}`, `master-${n}`, { apiserver: "true" });
    await cluster.pod(ETCD, `etcd-master-${n}`, `master-${n}`, { etcd: "true" });
  }
  await cluster.node("worker", "192.0.2.99");
  const each = (name: string, address: string) => Object.fromEntries(masters.map((n) => [`${name}-${n}`, `${address}${n}`]));
  const kasIp = await cluster.service(`${KAS}/apiserver`, { name: "https", port: 443 }, 6443, each("kube-apiserver-master", "192.0.2.1"));
  const oasIp = await cluster.service(`${OAS}/api`, { name: "https", port: 443 }, 8443, each("apiserver-7f9", "10.128.0.1"));
  await cluster.service(`${ETCD}/etcd`, { name: "etcd", port: 2379 }, 2379, each("etcd-master", "192.0.2.1"));
  const { spec } = await cluster.client.resource(Service).get("kubernetes", { namespace: "default", signal });
  await cluster.shippedMeshes();
  await eventually(async () => {
    expect(await cluster.meshStatus("kas-to-etcd", KAS)).toBe(
      `3 0 0 False Incomplete: spec.targets[0]: Service ${ETCD}/etcd does not exist, or does not allow meshes of namespace ${KAS}: annotate it with plumbline.dev/allow-mesh-from: ${KAS}`,
    );
  });
  const metadata = { annotations: { "plumbline.dev/allow-mesh-from": `${KAS},${OAS}` } };
  for (const [namespace, name] of [
    [KAS, "apiserver"],
    [OAS, "api"],
    [ETCD, "etcd"],
  ] as const)
    await cluster.client.resource(Service).patch({ name, namespace }, { metadata }, { signal });

  const fromEach = (source: string, targets: string[]) =>
    masters.flatMap((n) => targets.map((target) => `${source}-${n} ${target}`)).toSorted();
  const at = (address: string, port: number) => masters.map((n) => `${address}${n}:${port}`);
  await eventually(async () => {
    // Goals 2, 3 and 4.
    expect(await cluster.pairs(KAS)).toEqual(
      fromEach("kube-apiserver-master", [...at("10.128.0.1", 8443), ...at("192.0.2.1", 2379), `${oasIp}:443`]),
    );
    // Goals 5 and 6, which are two checks of one address here, 7 and 8.
    expect(await cluster.pairs(OAS)).toEqual(
      fromEach("apiserver-7f9", [
        ...at("192.0.2.1", 6443),
        ...at("192.0.2.1", 6443),
        `${kasIp}:443`,
        `${spec.clusterIP}:443`,
        ...at("192.0.2.1", 2379),
      ]),
    );
    expect(await cluster.checks(ETCD)).toEqual([]);
  });
  await eventually(async () => {
    expect(await cluster.meshStatus("kas-to-etcd", KAS)).toBe("3 3 9 True Complete: All checks exist");
    expect(await cluster.meshStatus("oas-to-kas-service", OAS)).toBe("3 2 6 True Complete: All checks exist");
  });
});

test("a replaced oas pod gets new checks, and results of the old one stay", async () => {
  await cluster.removePod(OAS, "apiserver-7f9-0");
  await cluster.pod(OAS, "apiserver-7f9-new", "master-0", { apiserver: "true" });
  await eventually(async () => {
    const sources = Map.groupBy(await cluster.checks(OAS), ({ spec }) => spec.sourcePod);
    expect(sources.get("apiserver-7f9-new")).toHaveLength(11);
    expect(sources.get("apiserver-7f9-0")).toHaveLength(11);
    expect(retired(sources.get("apiserver-7f9-0") ?? [])).toEqual([]);
  });
});

test("checks follow their mesh: recreated, moved, retired, resumed, and retired with the mesh", async () => {
  await cluster.pod("shop", "web", "worker", { app: "web" });
  const ip = await cluster.service("shop/db", { port: 5432 }, 5432, { "db-0": "10.1.0.1" });
  await cluster.mesh("db", "shop", {
    sources: { pods: { selector: { matchLabels: { app: "web" } } } },
    targets: [
      { service: { name: "db" } },
      { endpoints: { service: "db" } },
      { nodes: { selector: { matchLabels: { own: "1" } }, port: 22 } },
    ],
  });
  await eventually(async () =>
    expect(await cluster.meshStatus("db", "shop")).toMatch(/^1 2 2 False Incomplete: spec.targets\[2\]: no node/),
  );
  await cluster.node("own", "192.0.2.50", { own: "1" });
  await eventually(async () =>
    expect(await cluster.pairs("shop")).toEqual(["web 10.1.0.1:5432", `web ${ip}:5432`, "web 192.0.2.50:22"].toSorted()),
  );

  const [first] = await cluster.checks("shop");
  await checks().delete(first?.metadata ?? { name: "" }, { signal });
  await eventually(async () => {
    const again = (await cluster.checks("shop")).find(({ metadata }) => metadata.name === first?.metadata.name);
    expect(again?.metadata.uid).toMatch(/./);
    expect(again?.metadata.uid).not.toBe(first?.metadata.uid);
  });

  const before = await cluster.checks("shop");
  await cluster.moveNode("own", "192.0.2.51");
  await cluster.setEndpoints("shop/db", [endpointOf("shop", "db-0", "10.1.0.77")]);
  await eventually(async () =>
    expect(await cluster.pairs("shop")).toEqual(["web 10.1.0.77:5432", `web ${ip}:5432`, "web 192.0.2.51:22"].toSorted()),
  );
  const moved = await cluster.checks("shop");
  expect(moved.map(({ metadata }) => metadata.uid)).toEqual(before.map(({ metadata }) => metadata.uid));

  // Not ready may be the outage; ending is the end.
  await cluster.setEndpoints("shop/db", [endpointOf("shop", "db-0", "10.1.0.79", false)]);
  await eventually(async () => expect(await cluster.pairs("shop")).toContain("web 10.1.0.79:5432"));
  expect(retired(await cluster.checks("shop"))).toEqual([]);
  await cluster.setEndpoints("shop/db", []);
  await eventually(async () =>
    expect(retired(await cluster.checks("shop")).map(({ spec }) => spec.targetEndpoint)).toEqual(["10.1.0.79:5432"]),
  );
  await cluster.setEndpoints("shop/db", [endpointOf("shop", "db-0", "10.1.0.78")]);
  await eventually(async () => {
    expect(retired(await cluster.checks("shop"))).toEqual([]);
    expect(await cluster.meshStatus("db", "shop")).toBe("1 3 3 True Complete: All checks exist");
  });

  await cluster.client.resource(ConnectivityMesh).delete({ name: "db", namespace: "shop" }, { signal });
  await eventually(async () => expect(retired(await cluster.checks("shop"))).toHaveLength(3));
});

test("reports a foreign check with the same name and does not change it or any other", async () => {
  const spec = { sources: { pods: { selector: {} } }, targets: [{ host: "example.test:443" }] };
  await cluster.mesh("out", "shop", spec);
  const name = await eventually(async () => {
    const all = (await cluster.checks("shop")).filter(({ spec }) => spec.targetEndpoint === "example.test:443");
    expect(all).toHaveLength(1);
  }).then(async () => (await cluster.checks("shop")).find(({ spec }) => spec.targetEndpoint === "example.test:443")?.metadata.name ?? "");
  await cluster.client.resource(ConnectivityMesh).delete({ name: "out", namespace: "shop" }, { signal });
  await checks().delete({ name, namespace: "shop" }, { signal });
  const own = { sourcePod: "mine", targetEndpoint: "mine.test:1" };
  for (const each of [name, "mine"]) await checks().create({ metadata: { name: each, namespace: "shop" }, spec: own }, { signal });
  const before = await Promise.all([name, "mine"].map((each) => checks().get(each, { namespace: "shop", signal })));

  await cluster.mesh("out", "shop", spec);
  await eventually(async () =>
    expect(await cluster.meshStatus("out", "shop")).toBe(
      `1 1 0 False NameTaken: PodNetworkConnectivityCheck ${name} exists and does not belong to a mesh; delete or rename it`,
    ),
  );
  const after = await Promise.all([name, "mine"].map((each) => checks().get(each, { namespace: "shop", signal })));
  expect(after).toEqual(before);
  await checks().delete({ name, namespace: "shop" }, { signal });
  await eventually(async () => expect(await cluster.meshStatus("out", "shop")).toBe("1 1 1 True Complete: All checks exist"));
});

test("a new controller creates the remaining checks after the old one is killed, and then writes stop", async () => {
  for (let n = 0; n < 8; n += 1) await cluster.pod("crowd", `pod-${n}`, "worker", {});
  const targets = Array.from({ length: 10 }, (_, n) => ({ host: `host-${n}.test:80` }));
  await cluster.mesh("all", "crowd", { sources: { pods: { selector: {} } }, targets, sourcesPerTarget: "all" });
  await eventually(async () => expect((await cluster.checks("crowd")).length).toBeGreaterThan(15));
  await controller.kill();
  const half = await cluster.checks("crowd");
  expect(half.length).toBeLessThan(80);
  controller = cluster.controller();
  await eventually(async () => expect(await cluster.meshStatus("all", "crowd")).toBe("8 10 80 True Complete: All checks exist"));
  const whole = await cluster.checks("crowd");
  const uids = new Set(whole.map(({ metadata }) => metadata.uid));
  expect(half.every(({ metadata }) => uids.has(metadata.uid))).toBe(true);

  await sleep(1_000);
  const before = await cluster.versions();
  await controller.stop();
  controller = cluster.controller();
  await cluster.client.resource(Service).patch({ name: "db", namespace: "shop" }, { metadata: { labels: { any: "change" } } }, { signal });
  await sleep(2_000);
  expect(await cluster.versions()).toEqual(before);
});

test("nodes are sources only in Plumbline's namespace, three per target by default", async () => {
  for (let n = 0; n < 5; n += 1) await cluster.node(`meshed-${n}`, `198.51.100.${n}`, { meshed: "1" });
  const selector = { matchLabels: { meshed: "1" } };
  const spec = { sources: { nodes: { selector } }, targets: [{ nodes: { selector, port: 10250 } }] };
  await cluster.mesh("nodes", "shop", spec);
  await cluster.mesh("nodes", SYSTEM, spec);
  await eventually(async () => {
    expect(await cluster.meshStatus("nodes", "shop")).toBe(
      "0 5 0 False Incomplete: spec.sources: node sources are only allowed in namespace plumbline-system",
    );
    expect(await cluster.meshStatus("nodes", SYSTEM)).toBe("5 5 15 True Complete: All checks exist");
  });
  const all = await cluster.checks(SYSTEM);
  expect(all.every(({ metadata, spec: { sourcePod } }) => metadata.labels?.["plumbline.dev/node"] === sourcePod)).toBe(true);
  expect(all.every(({ metadata, spec: { sourcePod } }) => metadata.annotations?.["plumbline.dev/target-node"] !== sourcePod)).toBe(true);
});
