import { expect, test } from "vitest";
import type { Service } from "../../src/api/core/service.ts";
import type { ServiceBGPStatus } from "../../src/api/metallb/service-bgp-status.ts";
import type { ServiceL2Status } from "../../src/api/metallb/service-l2-status.ts";
import { announcedServices, announcedText, targetsOf } from "./announced-services.ts";

const service = (name: string, ip?: string, type: Service["spec"]["type"] = "LoadBalancer"): Service => ({
  metadata: { name, namespace: "default" },
  spec: {
    type,
    clusterIP: "10.96.0.80",
    ports: [
      { protocol: "UDP", port: 53 },
      { protocol: "TCP", port: 80 },
    ],
  },
  status: { loadBalancer: ip === undefined ? {} : { ingress: [{ ip }] } },
});

const overBgp = (name: string, node: string, bgpPeers: string[]): ServiceBGPStatus => ({
  metadata: { name: `${name}-${node}`, namespace: "default" },
  status: { service: name, node, bgpPeers },
});

const overL2 = (name: string, node: string, announced: "True" | "False"): ServiceL2Status => ({
  metadata: { name, namespace: "default" },
  status: {
    service: name,
    node,
    conditions: [{ type: "Announced", status: announced, reason: "x", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" }],
  },
});

const headless: Service = { ...service("new"), spec: { ...service("new").spec, clusterIP: "None" } };

test("the announcers of a Service come from the status objects of the nodes", () => {
  const services = [service("wiki", "10.30.0.100"), service("web", "10.200.0.1"), service("none", undefined, "ClusterIP"), headless];
  const announced = announcedServices({
    services,
    overBgp: [overBgp("web", "node2", ["tor"]), overBgp("web", "node1", ["tor"]), overBgp("web", "node3", [])],
    overL2: [overL2("wiki", "node3", "True")],
  });
  expect(announced).toEqual([
    { key: "default/new", addresses: [], clusterIPs: [], ports: [80], bgp: [] },
    { key: "default/web", addresses: ["10.200.0.1"], clusterIPs: ["10.96.0.80"], ports: [80], bgp: ["node1", "node2"] },
    { key: "default/wiki", addresses: ["10.30.0.100"], clusterIPs: ["10.96.0.80"], ports: [80], bgp: [], l2: "node3" },
  ]);
  expect(targetsOf(announced)).toEqual([
    { name: "default/web", address: "10.200.0.1", port: 80 },
    { name: "default/wiki", address: "10.30.0.100", port: 80 },
  ]);
  expect(announced.map(announcedText)).toEqual([
    "default/new without an address",
    "default/web 10.200.0.1 over BGP from node1, node2",
    "default/wiki 10.30.0.100 on its segment by node3",
  ]);
});

test("an elected node that does not hold the address does not announce it", () => {
  const announced = announcedServices({
    services: [service("wiki", "10.30.0.100")],
    overBgp: [],
    overL2: [overL2("wiki", "node3", "False")],
  });
  expect(announced.map(announcedText)).toEqual(["default/wiki 10.30.0.100 not announced"]);
});
