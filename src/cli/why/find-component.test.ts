import { expect, test } from "vitest";
import { idOf, type Thing } from "../../api/health.ts";
import { findThing } from "./find-component.ts";

const THINGS: Thing[] = [
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
const verdicts = THINGS.map((thing) => ({ id: idOf(thing), thing, domain: "cluster" as const, health: "Healthy" as const }));

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
])("%s means %s", (words, id) => {
  expect(findThing(words, undefined, verdicts).id).toBe(id);
});

test("the namespace of the command line decides where a name is in several", () => {
  expect(findThing("svc/web", "blog", verdicts).id).toBe("Service/blog/web");
});

test.each([
  ["svc/web", "Several are meant by svc/web: Service/blog/web, Service/shop/web; name one of them in full"],
  ["link/eth1", "link/eth1 is known as Link/eth1@node1, Link/eth1@node2; name one of them in full"],
  ["service/crat", "Nothing is known of service/crat; did you mean cart?"],
  ["service/payments", "Nothing is known of service/payments; there are: Service/blog/web, Service/shop/cart, Service/shop/web"],
  ["web", "web names no thing; write KIND/NAME, KIND/NAMESPACE/NAME or KIND/NAME@NODE"],
  ["underlay/u", "There is nothing of kind underlay here; there is something to say of: L3VNI, Link, Node, Path, Service, Session, Target"],
  ["banana/x", "Nothing here is called banana; there is something to say of: L3VNI, Link, Node, Path, Service, Session, Target"],
])("%s is answered in words", (words, message) => {
  expect(() => findThing(words, undefined, verdicts)).toThrow(message);
});
