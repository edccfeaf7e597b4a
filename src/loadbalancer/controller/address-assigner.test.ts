import { describe, expect, test } from "vitest";
import { pool } from "../testing/announcement-fixtures.ts";
import type { AddressAssigner } from "./address-assigner.ts";
import { loaded, open, service } from "../testing/service-fixtures.ts";

describe("who is woken", () => {
  const [one, two] = [pool("one", ["192.0.2.0/32"]), pool("two", ["192.0.2.1/32"], { autoAssign: false })];
  const fromTwo = { "metallb.io/address-pool": "two" };

  test("by an address that is free again: those who have none, and those who would rather have that one", () => {
    const { desk, woken } = open([one, two]);
    desk.decide(service("has-two", fromTwo));
    desk.decide(service("has-one"));
    desk.decide(service("has-one", fromTwo));
    desk.decide(service("has-nothing"));
    expect(woken).toEqual([]);
    desk.release("shop/has-two");
    expect(woken).toEqual(["shop/has-one"]);
  });

  test("nobody by one who looks in vain for something better", () => {
    const { desk, woken } = open([one, two, pool("three", ["192.0.2.2/32"])]);
    desk.decide(service("has-two", fromTwo));
    for (const name of ["a", "b"]) {
      desk.decide(service(name));
      desk.decide(service(name, fromTwo));
    }
    woken.length = 0;
    for (const name of ["a", "b"]) desk.decide(service(name, fromTwo));
    expect(woken).toEqual([]);
  });

  test("by a pool that is gone: those who had an address of it", () => {
    const { desk, woken } = open([one]);
    desk.decide(service("web"));
    desk.configure(loaded([pool("other", ["198.51.100.0/32"])]));
    expect(woken).toEqual(["shop/web"]);
  });
});

test("who leads next knows what is carried before it gives anything, and of two that carry the same the younger moves", () => {
  const { desk } = open([pool("main", ["192.0.2.0-192.0.2.2"])]);
  const carrying = { loadBalancer: { ingress: [{ ip: "192.0.2.0" }] } };
  const younger = { ...service("a-younger", {}, 9000), status: carrying };
  const older = { ...service("older", {}, 1000), status: carrying };
  desk.claimAll([younger, service("a-pending"), older]);
  const given = [service("a-pending"), younger, older].map((one) => desk.decide(one).wanted?.addresses.map(String));
  expect(given).toEqual([["192.0.2.1"], ["192.0.2.2"], ["192.0.2.0"]]);
});

const dual = (policy: "PreferDualStack" | "RequireDualStack", ingress: { ip: string }[] = []) => {
  const plain = service("dual", {}, 5000);
  const spec = { ...plain.spec, clusterIPs: ["10.96.0.1", "fd96::1"], ipFamilyPolicy: policy };
  return { ...plain, spec, status: { loadBalancer: { ingress } } };
};
const given = (order: ReturnType<AddressAssigner["decide"]>) => order.wanted?.addresses.map(String);

describe("a Service that loses one of two addresses", () => {
  const both = pool("both", ["192.0.2.0/32", "2001:db8::/128"]);
  const halved = pool("both", ["192.0.2.0/32"]);
  const carrying = [{ ip: "192.0.2.0" }, { ip: "2001:db8::" }];

  test.each(["PreferDualStack", "RequireDualStack"] as const)("keeps the other until it has been looked at: %s", (policy) => {
    const { desk } = open([both]);
    desk.decide(dual(policy));
    desk.decide(service("older"));
    desk.configure(loaded([halved]));
    expect(given(desk.decide(service("older")))).toEqual([]);
    expect(given(desk.decide(dual(policy, carrying)))).toEqual(["192.0.2.0"]);
  });

  test.each(["PreferDualStack", "RequireDualStack"] as const)("keeps the other through a change of leader: %s", (policy) => {
    const { desk } = open([halved]);
    desk.claimAll([service("older"), dual(policy, carrying)]);
    expect(given(desk.decide(service("older")))).toEqual([]);
    expect(given(desk.decide(dual(policy, carrying)))).toEqual(["192.0.2.0"]);
  });

  test("gets two others where a pool has two, and leaves the first to whoever waits for it", () => {
    const { desk, woken } = open([both]);
    desk.decide(dual("PreferDualStack"));
    desk.decide(service("older"));
    const elsewhere = pool("elsewhere", ["198.51.100.0/32", "2001:db8:1::/128"]);
    desk.configure(loaded([halved]));
    desk.configure(loaded([halved, elsewhere]));
    expect(given(desk.decide(dual("PreferDualStack", carrying)))).toEqual(["198.51.100.0", "2001:db8:1::"]);
    expect(woken).toContain("shop/older");
  });

  test("that a pool of another name has keeps both until then", () => {
    const { desk } = open([both]);
    const naming = dual("RequireDualStack");
    naming.metadata.annotations = { "metallb.io/address-pool": "both" };
    desk.decide(naming);
    desk.decide(service("older"));
    desk.configure(loaded([{ ...both, name: "renamed" }]));
    expect(given(desk.decide(service("older")))).toEqual([]);
    expect(given(desk.decide({ ...naming, status: { loadBalancer: { ingress: carrying } } }))).toEqual(["192.0.2.0", "2001:db8::"]);
  });
});

test("an address that a former LoadBalancer still publishes is not published by another Service until it is removed", () => {
  const { desk, woken } = open([pool("main", ["192.0.2.0/32"])]);
  const left = service("left", { "metallb.io/ip-allocated-from-pool": "main" });
  left.spec.type = "ClusterIP";
  desk.claimAll([{ ...left, status: { loadBalancer: { ingress: [{ ip: "192.0.2.0" }] } } }]);
  expect(desk.decide(service("next")).patch).toBeUndefined();
  desk.see({ ...left, metadata: { ...left.metadata, resourceVersion: "2" } });
  expect(woken).toEqual(["shop/next"]);
  expect(desk.decide(service("next")).wanted?.addresses.map(String)).toEqual(["192.0.2.0"]);
});

test("a pool rings when something of it is taken or given back, and not when the same is said again", () => {
  const { desk, rung } = open([pool("main", ["192.0.2.0/30"])]);
  desk.decide(service("web"));
  desk.decide(service("web"));
  expect(rung).toEqual(["main"]);
  expect(desk.usage("main")).toMatchObject({ assignedIPv4: 1n, services: 1 });
  desk.release("shop/web");
  expect(rung).toEqual(["main", "main"]);
});

test("pools that are told of again are no news to anyone; of others only those ring that are different", () => {
  const [one, two] = [pool("one", ["192.0.2.0/30"]), pool("two", ["198.51.100.0/30"])];
  const { desk, rung, woken } = open([one, two]);
  desk.decide(service("web"));
  rung.length = 0;
  expect(desk.configure(loaded([one, { ...two, ranges: [...two.ranges] }]))).toBe(false);
  expect([rung, woken]).toEqual([[], []]);
  expect(desk.configure(loaded([one, pool("two", ["198.51.100.0/29"])]))).toBe(true);
  expect(desk.configure(loaded([one], ["two", "three"]))).toBe(true);
  expect(desk.configure(loaded([one], ["two", "three"]))).toBe(false);
  expect(desk.configure(loaded([one]))).toBe(true);
  expect([rung, woken]).toEqual([["two", "two", "three"], []]);
});

test("a pool that is invalid is not in effect, and one that nobody has ever heard of neither", () => {
  const { desk } = open([]);
  desk.configure(loaded([pool("sound", ["192.0.2.0/30"])], ["odd"]));
  expect(["sound", "odd", "unheard"].map((name) => desk.isInEffect(name))).toEqual([true, false, false]);
});

const theirs = (ips: string[], created = 0, resourceVersion = "1") => {
  const plain = service("theirs", {}, created);
  const metadata = { ...plain.metadata, resourceVersion };
  const status = { loadBalancer: { ingress: ips.map((ip) => ({ ip })) } };
  return { ...plain, metadata, spec: { ...plain.spec, loadBalancerClass: "example.com/other" }, status };
};
const ours = (ip: string, created: number) => ({ ...service("ours", {}, created), status: { loadBalancer: { ingress: [{ ip }] } } });

describe("a Service of another class", () => {
  test("keeps what it shows, which nobody else gets before it has let go of it", () => {
    const { desk, woken, rung } = open([pool("main", ["192.0.2.0/31"])]);
    desk.claimAll([service("ours"), theirs(["192.0.2.0", "192.0.2.1"])]);
    expect(desk.decide(service("ours"))).toMatchObject({ wanted: { addresses: [] }, refused: { reason: "AllocationFailed" } });
    expect(desk.decide(theirs(["192.0.2.0", "192.0.2.1"]))).toEqual({ tidings: [], deprecated: [] });
    expect([woken, rung]).toEqual([[], []]);
    desk.decide(theirs(["192.0.2.1"], 0, "2"));
    expect([woken, rung]).toEqual([["shop/ours"], ["main"]]);
    expect(given(desk.decide(service("ours")))).toEqual(["192.0.2.0"]);
    desk.release("shop/theirs");
    expect(desk.usage("main")).toMatchObject({ assignedIPv4: 1n, services: 1 });
  });

  test("and one of ours that show the same: the younger moves", () => {
    const { desk } = open([pool("main", ["192.0.2.0/31"])]);
    desk.claimAll([ours("192.0.2.0", 1000)]);
    desk.decide(theirs(["192.0.2.0"], 2000));
    expect(given(desk.decide(ours("192.0.2.0", 1000)))).toEqual(["192.0.2.0"]);
    const { desk: next, woken } = open([pool("main", ["192.0.2.0/31"])]);
    next.claimAll([ours("192.0.2.0", 2000)]);
    next.decide(theirs(["192.0.2.0"], 1000));
    expect(woken).toEqual(["shop/ours"]);
    const order = next.decide(ours("192.0.2.0", 2000));
    expect([given(order), order.tidings.map(({ reason }) => reason)]).toEqual([["192.0.2.1"], ["ClearAssignment"]]);
  });
});
