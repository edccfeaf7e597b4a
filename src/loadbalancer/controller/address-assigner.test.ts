import { describe, expect, test } from "vitest";
import { pool } from "../testing/announcement-fixtures.ts";
import type { AddressAssigner } from "./address-assigner.ts";
import { loaded, open, service } from "../testing/service-fixtures.ts";

describe("the assigner", () => {
  const [one, two] = [pool("one", ["192.0.2.0/32"]), pool("two", ["192.0.2.1/32"], { autoAssign: false })];
  const fromTwo = { "metallb.io/address-pool": "two" };

  test("wakes a waiting Service when the address that it requests becomes free", () => {
    const { assigner, woken } = open([one, two]);
    assigner.decide(service("has-two", fromTwo));
    assigner.decide(service("has-one"));
    assigner.decide(service("has-one", fromTwo));
    assigner.decide(service("has-nothing"));
    expect(woken).toEqual([]);
    assigner.release("shop/has-two");
    expect(woken).toEqual(["shop/has-one"]);
  });

  test("wakes no Service for one whose better request is still not available", () => {
    const { assigner, woken } = open([one, two, pool("three", ["192.0.2.2/32"])]);
    assigner.decide(service("has-two", fromTwo));
    for (const name of ["a", "b"]) {
      assigner.decide(service(name));
      assigner.decide(service(name, fromTwo));
    }
    woken.length = 0;
    for (const name of ["a", "b"]) assigner.decide(service(name, fromTwo));
    expect(woken).toEqual([]);
  });

  test("wakes the Services of a pool that is deleted", () => {
    const { assigner, woken } = open([one]);
    assigner.decide(service("web"));
    assigner.configure(loaded([pool("other", ["198.51.100.0/32"])]));
    expect(woken).toEqual(["shop/web"]);
  });
});

test("a new leader claims all published addresses before it assigns any, and of two Services with one address the younger moves", () => {
  const { assigner } = open([pool("main", ["192.0.2.0-192.0.2.2"])]);
  const carrying = { loadBalancer: { ingress: [{ ip: "192.0.2.0" }] } };
  const younger = { ...service("a-younger", {}, 9000), status: carrying };
  const older = { ...service("older", {}, 1000), status: carrying };
  assigner.claimAll([younger, service("a-pending"), older]);
  const given = [service("a-pending"), younger, older].map((one) => assigner.decide(one).wanted?.addresses.map(String));
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

  test.each(["PreferDualStack", "RequireDualStack"] as const)("keeps the other until it is decided: %s", (policy) => {
    const { assigner } = open([both]);
    assigner.decide(dual(policy));
    assigner.decide(service("older"));
    assigner.configure(loaded([halved]));
    expect(given(assigner.decide(service("older")))).toEqual([]);
    expect(given(assigner.decide(dual(policy, carrying)))).toEqual(["192.0.2.0"]);
  });

  test.each(["PreferDualStack", "RequireDualStack"] as const)("keeps the other through a change of leader: %s", (policy) => {
    const { assigner } = open([halved]);
    assigner.claimAll([service("older"), dual(policy, carrying)]);
    expect(given(assigner.decide(service("older")))).toEqual([]);
    expect(given(assigner.decide(dual(policy, carrying)))).toEqual(["192.0.2.0"]);
  });

  test("gets two addresses of another pool that has both, and releases the first", () => {
    const { assigner, woken } = open([both]);
    assigner.decide(dual("PreferDualStack"));
    assigner.decide(service("older"));
    const elsewhere = pool("elsewhere", ["198.51.100.0/32", "2001:db8:1::/128"]);
    assigner.configure(loaded([halved]));
    assigner.configure(loaded([halved, elsewhere]));
    expect(given(assigner.decide(dual("PreferDualStack", carrying)))).toEqual(["198.51.100.0", "2001:db8:1::"]);
    expect(woken).toContain("shop/older");
  });

  test("keeps both if its pool is renamed, although it requests the old name", () => {
    const { assigner } = open([both]);
    const naming = dual("RequireDualStack");
    naming.metadata.annotations = { "metallb.io/address-pool": "both" };
    assigner.decide(naming);
    assigner.decide(service("older"));
    assigner.configure(loaded([{ ...both, name: "renamed" }]));
    expect(given(assigner.decide(service("older")))).toEqual([]);
    expect(given(assigner.decide({ ...naming, status: { loadBalancer: { ingress: carrying } } }))).toEqual(["192.0.2.0", "2001:db8::"]);
  });
});

test("an address that a former LoadBalancer still publishes is not published by another Service until it is removed", () => {
  const { assigner, woken } = open([pool("main", ["192.0.2.0/32"])]);
  const left = service("left", { "metallb.io/ip-allocated-from-pool": "main" });
  left.spec.type = "ClusterIP";
  assigner.claimAll([{ ...left, status: { loadBalancer: { ingress: [{ ip: "192.0.2.0" }] } } }]);
  expect(assigner.decide(service("next")).patch).toBeUndefined();
  assigner.observe({ ...left, metadata: { ...left.metadata, resourceVersion: "2" } });
  expect(woken).toEqual(["shop/next"]);
  expect(assigner.decide(service("next")).wanted?.addresses.map(String)).toEqual(["192.0.2.0"]);
});

test("a pool changes when an address is assigned or released, and not by a repeated decision", () => {
  const { assigner, changedPools } = open([pool("main", ["192.0.2.0/30"])]);
  assigner.decide(service("web"));
  assigner.decide(service("web"));
  expect(changedPools).toEqual(["main"]);
  expect(assigner.usage("main")).toMatchObject({ assignedIPv4: 1n, services: 1 });
  assigner.release("shop/web");
  expect(changedPools).toEqual(["main", "main"]);
});

test("configuring the same pools again changes nothing, and of others only the different pools change", () => {
  const [one, two] = [pool("one", ["192.0.2.0/30"]), pool("two", ["198.51.100.0/30"])];
  const { assigner, changedPools, woken } = open([one, two]);
  assigner.decide(service("web"));
  changedPools.length = 0;
  expect(assigner.configure(loaded([one, { ...two, ranges: [...two.ranges] }]))).toBe(false);
  expect([changedPools, woken]).toEqual([[], []]);
  expect(assigner.configure(loaded([one, pool("two", ["198.51.100.0/29"])]))).toBe(true);
  expect(assigner.configure(loaded([one], ["two", "three"]))).toBe(true);
  expect(assigner.configure(loaded([one], ["two", "three"]))).toBe(false);
  expect(assigner.configure(loaded([one]))).toBe(true);
  expect([changedPools, woken]).toEqual([["two", "two", "three"], []]);
});

test("an invalid pool and an unknown pool are not in effect", () => {
  const { assigner } = open([]);
  assigner.configure(loaded([pool("sound", ["192.0.2.0/30"])], ["odd"]));
  expect(["sound", "odd", "unheard"].map((name) => assigner.isInEffect(name))).toEqual([true, false, false]);
});

const theirs = (ips: string[], created = 0, resourceVersion = "1") => {
  const plain = service("theirs", {}, created);
  const metadata = { ...plain.metadata, resourceVersion };
  const status = { loadBalancer: { ingress: ips.map((ip) => ({ ip })) } };
  return { ...plain, metadata, spec: { ...plain.spec, loadBalancerClass: "example.com/other" }, status };
};
const ours = (ip: string, created: number) => ({ ...service("ours", {}, created), status: { loadBalancer: { ingress: [{ ip }] } } });

describe("a Service of another class", () => {
  test("keeps its published address, which no other Service gets until it is released", () => {
    const { assigner, woken, changedPools } = open([pool("main", ["192.0.2.0/31"])]);
    assigner.claimAll([service("ours"), theirs(["192.0.2.0", "192.0.2.1"])]);
    expect(assigner.decide(service("ours"))).toMatchObject({ wanted: { addresses: [] }, unmet: { reason: "AllocationFailed" } });
    expect(assigner.decide(theirs(["192.0.2.0", "192.0.2.1"]))).toEqual({ events: [], deprecated: [] });
    expect([woken, changedPools]).toEqual([[], []]);
    assigner.decide(theirs(["192.0.2.1"], 0, "2"));
    expect([woken, changedPools]).toEqual([["shop/ours"], ["main"]]);
    expect(given(assigner.decide(service("ours")))).toEqual(["192.0.2.0"]);
    assigner.release("shop/theirs");
    expect(assigner.usage("main")).toMatchObject({ assignedIPv4: 1n, services: 1 });
  });

  test("publishes the same address as a Service of ours: the younger of the two moves", () => {
    const { assigner } = open([pool("main", ["192.0.2.0/31"])]);
    assigner.claimAll([ours("192.0.2.0", 1000)]);
    assigner.decide(theirs(["192.0.2.0"], 2000));
    expect(given(assigner.decide(ours("192.0.2.0", 1000)))).toEqual(["192.0.2.0"]);
    const { assigner: next, woken } = open([pool("main", ["192.0.2.0/31"])]);
    next.claimAll([ours("192.0.2.0", 2000)]);
    next.decide(theirs(["192.0.2.0"], 1000));
    expect(woken).toEqual(["shop/ours"]);
    const order = next.decide(ours("192.0.2.0", 2000));
    expect([given(order), order.events.map(({ reason }) => reason)]).toEqual([["192.0.2.1"], ["ClearAssignment"]]);
  });
});
