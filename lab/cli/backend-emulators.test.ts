import { expect, test } from "vitest";
import type { EndpointSlice } from "../../src/api/core/endpoint-slice.ts";
import type { AnnouncedService } from "./announced-services.ts";
import { emulatedOn } from "./backend-emulators.ts";

const WEB: AnnouncedService = { key: "default/web", addresses: ["10.200.0.1"], clusterIPs: ["10.96.0.80"], ports: [80], bgp: [] };

const slice = (...endpoints: NonNullable<EndpointSlice["endpoints"]>): EndpointSlice => ({
  metadata: { name: "web", namespace: "default", labels: { "kubernetes.io/service-name": "web" } },
  addressType: "IPv4",
  ports: [{ name: "http", port: 8080, protocol: "TCP" }],
  endpoints,
});
const pod = (nodeName: string, address: string, ready = true) => ({ addresses: [address], nodeName, conditions: { ready } });
const answers = (node: string, ...slices: EndpointSlice[]) =>
  emulatedOn(node, [WEB], slices).map(({ address, port }) => `${address}:${port}`);

test("a node with a pod answers at the service's announced address, at its cluster IP and at the pod's own address", () => {
  expect(answers("node1", slice(pod("node1", "10.244.1.2"), pod("node2", "10.244.2.2")))).toEqual([
    "10.200.0.1:80",
    "10.96.0.80:80",
    "10.244.1.2:8080",
  ]);
});

test("a node without a ready pod answers only at the cluster IP, and no node answers without any ready pod", () => {
  expect(answers("node1", slice(pod("node2", "10.244.2.2")))).toEqual(["10.96.0.80:80"]);
  expect(answers("node1", slice(pod("node1", "10.244.1.2", false), pod("node2", "10.244.2.2")))).toEqual(["10.96.0.80:80"]);
  expect(answers("node1", slice(pod("node1", "10.244.1.2", false)))).toEqual([]);
  expect(answers("node1")).toEqual([]);
});
