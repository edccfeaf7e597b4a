import { expect, test } from "vitest";
import { componentId, type Component } from "../../api/health.ts";
import { findComponent } from "./find-component.ts";

const COMPONENTS: Component[] = [
  { kind: "Service", namespace: "shop", name: "web" },
  { kind: "Service", namespace: "blog", name: "web" },
  { kind: "Service", namespace: "shop", name: "cart" },
  { kind: "L3VNI", namespace: "openperouter-system", name: "red" },
  { kind: "L3VNI", namespace: "openperouter-system", name: "red", node: "node1" },
  { kind: "Session", name: "red/10.1.0.2", node: "node1" },
  { kind: "Link", name: "eth1", node: "node1" },
  { kind: "Link", name: "eth1", node: "node2" },
  { kind: "Node", name: "node1" },
  { kind: "Target", name: "service/shop/web" },
  { kind: "Path", name: "node/node1" },
];
const healths = COMPONENTS.map((component) => ({
  id: componentId(component),
  component,
  domain: "cluster" as const,
  health: "Healthy" as const,
}));

test.each([
  ["service/shop/web", "Service/shop/web"],
  ["svc/cart", "Service/shop/cart"],
  ["services/blog/web", "Service/blog/web"],
  ["l3vni/red", "L3VNI/openperouter-system/red"],
  ["L3VNI/red@node1", "L3VNI/openperouter-system/red@node1"],
  ["session/red/10.1.0.2@node1", "Session/red/10.1.0.2@node1"],
  ["link/eth1@node2", "Link/eth1@node2"],
  ["node/node1", "Node/node1"],
  ["Target/service/shop/web", "Target/service/shop/web"],
  ["path/node/node1", "Path/node/node1"],
])("%s resolves to %s", (reference, id) => {
  expect(findComponent(reference, undefined, healths).id).toBe(id);
});

test("-n chooses between namespaces that have the same name", () => {
  expect(findComponent("svc/web", "blog", healths).id).toBe("Service/blog/web");
});

test.each([
  ["svc/web", "svc/web is ambiguous: Service/blog/web, Service/shop/web; use one of these names"],
  ["link/eth1", "link/eth1 not found, but Link/eth1@node1, Link/eth1@node2; use one of these names"],
  ["service/crat", "service/crat not found; did you mean cart?"],
  ["service/payments", "service/payments not found; found: Service/blog/web, Service/shop/cart, Service/shop/web"],
  ["web", 'invalid name "web": use KIND/NAME, KIND/NAMESPACE/NAME or KIND/NAME@NODE'],
  ["underlay/u", "no underlay found; kinds found: L3VNI, Link, Node, Path, Service, Session, Target"],
  ["banana/x", 'unknown kind "banana"; kinds found: L3VNI, Link, Node, Path, Service, Session, Target'],
])("%s is rejected with a hint", (reference, message) => {
  expect(() => findComponent(reference, undefined, healths)).toThrow(message);
});
