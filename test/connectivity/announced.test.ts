import { afterAll, beforeAll, expect, test } from "vitest";
import { ConnectivityMesh } from "../../src/api/connectivity/connectivity-mesh.ts";
import { probeAnnotation, retiredAnnotation } from "../../src/api/annotations.ts";
import { Service, type ServicePort } from "../../src/api/core/service.ts";
import { ServiceBGPStatus } from "../../src/api/metallb/service-bgp-status.ts";
import { eventually, MeshedCluster, type Running, SYSTEM } from "./fixtures/meshed-cluster.ts";

const { signal } = new AbortController();
const METALLB = "metallb-system";
let cluster: MeshedCluster;
let controller: Running;

beforeAll(async () => {
  cluster = await MeshedCluster.start("announced", "shop");
  controller = cluster.controller({ loadBalancer: { namespace: METALLB } });
});
afterAll(async () => {
  await controller.stop();
  await cluster.stop();
});

/** Of a class that our controller does not serve, so that it leaves the address as it is. */
async function announcedService(name: string, ip: string, nodes: readonly string[], port: ServicePort): Promise<void> {
  const services = cluster.client.resource(Service);
  const spec = { type: "LoadBalancer" as const, loadBalancerClass: "example.com/other", ports: [port] };
  await services.create({ metadata: { name, namespace: "shop" }, spec }, { signal });
  const announced = { type: "metallb.io/Announced", status: "True", reason: "Announced", message: "" } as const;
  const conditions = [{ ...announced, lastTransitionTime: "2026-11-16T09:00:00Z" }];
  const status = { loadBalancer: { ingress: [{ ip, ipMode: "VIP" as const }] }, conditions };
  await services.patchStatus({ name, namespace: "shop" }, { status }, { signal });
  for (const node of nodes) await report(name, node);
}

async function report(service: string, node: string): Promise<void> {
  const reports = cluster.client.resource(ServiceBGPStatus);
  const metadata = { name: `${service}-${node}`, namespace: "shop" };
  await reports.create({ metadata: { ...metadata, annotations: { "plumbline.dev/node": node } } }, { signal });
  await reports.patchStatus(metadata, { status: { node, service, bgpPeers: ["tor"] } }, { signal });
}

test("a mesh of announced Services has checks from other nodes' routers, and follows the announcements", async () => {
  for (const [at, name] of ["n1", "n2", "n3"].entries()) await cluster.node(name, `198.51.100.${at + 1}`);
  await announcedService("web", "192.0.2.1", ["n1"], { port: 80, protocol: "TCP" });
  await announcedService("dns", "192.0.2.2", ["n1"], { port: 53, protocol: "UDP" });
  await cluster.mesh("announced", SYSTEM, { sources: { nodes: {} }, targets: [{ announced: {} }], sourcesPerTarget: 2 });
  await eventually(async () => expect(await cluster.pairs(SYSTEM)).toEqual(["n2 192.0.2.1:80", "n3 192.0.2.1:80"]));
  await eventually(async () => expect(await cluster.meshStatus("announced", SYSTEM)).toBe("3 1 2 True Complete: All checks exist"));
  const { status } = await cluster.client.resource(ConnectivityMesh).get("announced", { namespace: SYSTEM, signal });
  expect(status).toMatchObject({ notObserved: [{ service: "shop/dns", reason: "NoTCPPort" }], notObservedServices: 1 });
  const [check] = await cluster.checks(SYSTEM);
  expect(check?.metadata.annotations?.[probeAnnotation]).toBe('{"type":"TCP","from":"Router"}');

  const working = async () =>
    (await cluster.checks(SYSTEM))
      .filter(({ metadata }) => metadata.annotations?.[retiredAnnotation] === undefined)
      .map(({ spec }) => spec.sourcePod);
  await report("web", "n2");
  await eventually(async () => expect(await working()).toContain("n3"));
  await cluster.client.resource(Service).delete({ name: "web", namespace: "shop" }, { signal });
  await eventually(async () => expect(await working()).toEqual([]));
});
