import { expect, test } from "vitest";
import type { Endpoint, EndpointSlice } from "../../api/core/endpoint-slice.ts";
import type { Service } from "../../api/core/service.ts";
import { internalIPv4, readNode, readService } from "./service-view.ts";

const service = (more: Partial<Service> = {}): Service => ({
  metadata: { name: "web", namespace: "shop", uid: "u1", labels: { app: "web" } },
  spec: { type: "LoadBalancer" },
  ...more,
});
const slice = (...endpoints: Partial<Endpoint>[]): EndpointSlice => ({
  metadata: { name: "web-1", namespace: "shop" },
  addressType: "IPv4",
  endpoints: endpoints.map((endpoint) => Object.assign({ addresses: ["10.1.0.1"] }, endpoint)),
});
const endpoints = (...slices: EndpointSlice[]) => {
  const { any, nodes } = readService(service(), slices).endpoints;
  return [any, ...nodes];
};

test("addresses are those of the ingress in its order, without invalid ones", () => {
  const ingress = [{ ip: "2001:db8::1" }, { hostname: "web.example" }, { ip: "10.0.0.256" }, { ip: "::ffff:10.0.0.1" }];
  const view = readService(service({ status: { loadBalancer: { ingress } } }), []);
  expect(view.addresses.map(String)).toEqual(["2001:db8::1", "10.0.0.1"]);
  expect(view).toMatchObject({ key: "shop/web", uid: "u1", labels: { app: "web" }, local: false });
});

const shared = (annotations: Record<string, string>) =>
  readService(service({ metadata: { name: "web", namespace: "shop", annotations } }), []).sharingKey;

test("the sharing key is read from its new and its old annotation, and an empty one is ignored", () => {
  expect(shared({ "metallb.universe.tf/allow-shared-ip": "old" })).toBe("old");
  expect(shared({ "metallb.universe.tf/allow-shared-ip": "old", "metallb.io/allow-shared-ip": "new" })).toBe("new");
  expect(shared({ "metallb.io/allow-shared-ip": "" })).toBeUndefined();
});

test("externalTrafficPolicy Local is read", () => {
  expect(readService(service({ spec: { type: "LoadBalancer", externalTrafficPolicy: "Local" } }), []).local).toBe(true);
});

test.each([
  ["ready is unset", {}, true],
  ["ready", { ready: true }, true],
  ["not ready", { ready: false }, false],
  ["terminating and still serving", { ready: false, serving: true, terminating: true }, true],
  ["terminating and not serving", { ready: false, serving: false, terminating: true }, false],
])("an endpoint of which %s", (_title, conditions, isUsable) => {
  expect(endpoints(slice({ conditions, nodeName: "a" }))).toEqual(isUsable ? [true, "a"] : [false]);
});

test("a node with only terminating endpoints is skipped while another node has a ready one", () => {
  const ending = { conditions: { ready: false, serving: true, terminating: true }, nodeName: "a" };
  expect(endpoints(slice(ending), slice({ nodeName: "b" }, {}))).toEqual([true, "b"]);
  expect(endpoints(slice(ending), slice({ ...ending, nodeName: "b" }, {}))).toEqual([true, "a", "b"]);
});

test("endpoints of all slices count, also without a node, but not without an address", () => {
  expect(endpoints(slice({ nodeName: "a" }), slice({ nodeName: "b" }, {}))).toEqual([true, "a", "b"]);
  expect(endpoints(slice({ nodeName: "a", addresses: [] }))).toEqual([false]);
  expect(endpoints({ ...slice(), endpoints: null })).toEqual([false]);
});

test("a node is unavailable by its condition, and excluded by the presence of a label", () => {
  const node = {
    metadata: { name: "a", labels: { "node.kubernetes.io/exclude-from-external-load-balancers": "" } },
    spec: {},
    status: {
      conditions: [{ type: "NetworkUnavailable", status: "True" as const }],
      addresses: [
        { type: "InternalIP" as const, address: "2001:db8::1" },
        { type: "InternalIP" as const, address: "192.0.2.1" },
      ],
    },
  };
  expect(readNode(node, { ignoreExclude: false })).toMatchObject({ name: "a", networkUnavailable: true, excluded: true });
  expect(readNode(node, { ignoreExclude: true }).excluded).toBe(false);
  expect(readNode({ metadata: { name: "b" }, spec: {} }, { ignoreExclude: false })).toEqual({
    name: "b",
    labels: {},
    networkUnavailable: false,
    excluded: false,
  });
  expect(internalIPv4(node)).toBe("192.0.2.1");
});
