import { describe, expect, test } from "vitest";
import type { Service } from "../../api/core/service.ts";
import { Allocator } from "../allocator/allocator.ts";
import { pool } from "../testing/announcement-fixtures.ts";
import type { Pool } from "../config/config.ts";
import { decide, type Decision, type AssignContext, reclaim } from "./assign.ts";
import { patchFor } from "./published-addresses.ts";

type Spec = Partial<Service["spec"]>;
interface More extends Spec {
  annotations?: Record<string, string>;
  ips?: string[];
  created?: string;
}

function service(name: string, { annotations = {}, ips = [], created = "2026-01-01T00:00:00Z", ...spec }: More = {}): Service {
  return {
    metadata: { name, namespace: "shop", uid: name, resourceVersion: "1", creationTimestamp: created, annotations },
    spec: { type: "LoadBalancer", clusterIPs: ["10.96.0.1"], ports: [{ protocol: "TCP", port: 80 }], ...spec },
    status: { loadBalancer: ips.length > 0 ? { ingress: ips.map((ip) => ({ ip })) } : {} },
  };
}

const dual: More = { clusterIPs: ["10.96.0.1", "fd96::1"], ipFamilyPolicy: "PreferDualStack" };
const FROM = "metallb.io/ip-allocated-from-pool";
const woken: string[] = [];

function context(pools: readonly Pool[], broken: readonly string[] = []): AssignContext {
  const allocator = new Allocator({ onWake: (key) => woken.push(key) });
  allocator.setPools(pools, new Set(broken));
  return { allocator, lbClass: undefined, hasPools: pools.length + broken.length > 0, isPublished: () => true };
}

const main = pool("main", ["192.0.2.0-192.0.2.3"]);
const asking = (name: string) => service(name, { annotations: { "metallb.io/address-pool": "other" } });
const texts = ({ wanted }: Decision) => wanted?.addresses.map(String);
const reasons = ({ events, unmet }: Decision) => [...events, ...(unmet ? [unmet] : [])].map(({ reason }) => reason);

test("a Service without an address gets the lowest one", () => {
  const decision = decide(service("web"), context([main]));
  expect(texts(decision)).toEqual(["192.0.2.0"]);
  expect(decision).toMatchObject({ wanted: { pool: "main" }, events: [], deprecated: [] });
});

test("the allocation counts, whatever a stale copy of the Service or another writer shows", () => {
  const assigning = context([main]);
  decide(service("web"), assigning);
  expect(texts(decide(service("web"), assigning))).toEqual(["192.0.2.0"]);
  expect(texts(decide(service("web", { ips: ["192.0.2.3"] }), assigning))).toEqual(["192.0.2.0"]);
});

test("a Service with two published addresses of its one family keeps the first", () => {
  const decision = decide(service("web", { ips: ["192.0.2.3", "192.0.2.2"] }), context([main]));
  expect(texts(decision)).toEqual(["192.0.2.3"]);
});

test("an address outside of all pools is replaced in one decision", () => {
  const decision = decide(service("web", { ips: ["203.0.113.1"], annotations: { [FROM]: "main" } }), context([main]));
  expect(texts(decision)).toEqual(["192.0.2.0"]);
  expect(reasons(decision)).toEqual(["ClearAssignment"]);
});

describe("a Service that is not ours", () => {
  test.each<[string, More]>([
    ["of another class", { loadBalancerClass: "example.com/other", ips: ["192.0.2.1"] }],
    ["of another type, without our annotation", { type: "ClusterIP" }],
  ])("%s is left alone", (_which, more) => {
    expect(decide(service("web", more), context([main])).wanted).toBeUndefined();
  });

  test("but has the name of a former one of ours keeps the address of its own controller", () => {
    const assigning = context([main]);
    decide(service("web"), assigning);
    const decision = decide(service("web", { loadBalancerClass: "example.com/other", ips: ["203.0.113.1"] }), assigning);
    expect(decision.wanted).toBeUndefined();
    expect(texts(decide(service("next"), assigning))).toEqual(["192.0.2.0"]);
  });

  test("any more loses its address, which becomes free", () => {
    const assigning = context([main]);
    decide(service("web"), assigning);
    const decision = decide(service("web", { type: "ClusterIP", annotations: { [FROM]: "main" } }), assigning);
    expect(decision.wanted).toEqual({ addresses: [] });
    expect(texts(decide(service("next"), assigning))).toEqual(["192.0.2.0"]);
  });
});

describe("without any pool", () => {
  test("an address of another controller stays, and the event says that no pool is configured", () => {
    const decision = decide(service("web", { ips: ["203.0.113.1"] }), context([]));
    expect(decision.wanted).toBeUndefined();
    expect(decision.unmet).toMatchObject({ reason: "AllocationFailed", message: "No address: no IPAddressPool exists" });
  });

  test("an address that we assigned is removed", () => {
    const decision = decide(service("web", { ips: ["192.0.2.1"], annotations: { [FROM]: "main" } }), context([]));
    expect(decision.wanted).toEqual({ addresses: [] });
    expect(reasons(decision)).toEqual(["ClearAssignment", "AllocationFailed"]);
  });
});

test("an address of a pool that became invalid stays, also after a change of leader", () => {
  const decision = decide(service("web", { ips: ["192.0.2.1"], annotations: { [FROM]: "main" } }), context([], ["main"]));
  expect(texts(decision)).toEqual(["192.0.2.1"]);
  expect(reasons(decision)).toEqual([]);
});

describe("a Service with an unreadable request", () => {
  const garbage = { "metallb.io/loadBalancerIPs": "what?" };

  test("keeps its address, which no other Service gets", () => {
    const assigning = context([pool("one", ["192.0.2.0/32"])]);
    const decision = decide(service("web", { ips: ["192.0.2.0"], annotations: garbage }), assigning);
    expect(texts(decision)).toEqual(["192.0.2.0"]);
    expect(reasons(decision)).toEqual(["LoadBalancerFailed"]);
    expect(reasons(decide(service("next"), assigning))).toEqual(["AllocationFailed"]);
  });

  test("gets no address if it has none", () => {
    expect(decide(service("web", { annotations: garbage }), context([main])).wanted).toBeUndefined();
  });

  test("loses an address that is no longer in any pool", () => {
    const assigning = context([main]);
    decide(service("web"), assigning);
    assigning.allocator.setPools([pool("other", ["198.51.100.0/32"])], new Set());
    const decision = decide(service("web", { ips: ["192.0.2.0"], annotations: garbage }), assigning);
    expect(decision.wanted).toEqual({ addresses: [] });
    expect(reasons(decision)).toEqual(["ClearAssignment", "LoadBalancerFailed"]);
  });

  test("keeps the address of its remaining family when it requests two and has one cluster family", () => {
    const assigning = context([pool("both", ["192.0.2.0/31", "2001:db8::/127"])]);
    const annotations = { "metallb.io/loadBalancerIPs": "192.0.2.1,2001:db8::1" };
    expect(texts(decide(service("web", { ...dual, annotations }), assigning))).toEqual(["192.0.2.1", "2001:db8::1"]);
    const decision = decide(service("web", { annotations, ips: ["192.0.2.1", "2001:db8::1"] }), assigning);
    expect(texts(decision)).toEqual(["192.0.2.1"]);
    expect(reasons(decision)).toEqual(["AllocationFailed"]);
    expect(texts(decide(service("next", { annotations: { "metallb.io/loadBalancerIPs": "192.0.2.1" } }), assigning))).toEqual([]);
  });
});

describe("a Service that requests another address", () => {
  const other = pool("other", ["198.51.100.0/32"], { autoAssign: false });

  test("gets it, with an event about the released one", () => {
    const assigning = context([main, other]);
    decide(service("web"), assigning);
    const decision = decide(asking("web"), assigning);
    expect(texts(decision)).toEqual(["198.51.100.0"]);
    expect(reasons(decision)).toEqual(["ClearAssignment"]);
  });

  test("keeps its address if the requested one is not available", () => {
    const assigning = context([main, other]);
    decide(asking("holder"), assigning);
    decide(service("web"), assigning);
    const decision = decide(asking("web"), assigning);
    expect(texts(decision)).toEqual(["192.0.2.0"]);
    expect(decision.unmet?.message).toMatch(/^No address: .*other.*; keeping 192\.0\.2\.0$/);
  });

  test("releases nothing while it waits, so that no other Service is woken for nothing", () => {
    const assigning = context([pool("one", ["192.0.2.0/32"]), other]);
    for (const one of [asking("holder"), service("web"), service("waiting")]) decide(one, assigning);
    woken.length = 0;
    decide(asking("web"), assigning);
    expect(woken).toEqual([]);
    assigning.allocator.release("shop/holder");
    expect(woken).toEqual(["shop/web"]);
  });

  test("by loadBalancerIPs gets that address", () => {
    const assigning = context([main]);
    decide(service("web"), assigning);
    expect(texts(decide(service("web", { annotations: { "metallb.io/loadBalancerIPs": "192.0.2.2" } }), assigning))).toEqual(["192.0.2.2"]);
    expect(texts(decide(service("next"), assigning))).toEqual(["192.0.2.0"]);
  });
});

describe("two families", () => {
  const both = pool("both", ["192.0.2.0/31", "2001:db8::/127"]);

  test("the second address is added to the first", () => {
    const assigning = context([both]);
    decide(service("web"), assigning);
    expect(texts(decide(service("web", dual), assigning))).toEqual(["192.0.2.0", "2001:db8::"]);
  });

  test("without a free second address the first stays, with an event", () => {
    const assigning = context([main]);
    const decision = decide(service("web", { ...dual, ips: ["192.0.2.1"] }), assigning);
    expect(texts(decision)).toEqual(["192.0.2.1"]);
    expect(reasons(decision)).toEqual(["AdditionalAssignFailed"]);
  });

  test("when one family is dropped, the address of the other stays", () => {
    const assigning = context([both]);
    decide(service("web", dual), assigning);
    const decision = decide(service("web"), assigning);
    expect(texts(decision)).toEqual(["192.0.2.0"]);
    expect(reasons(decision)).toEqual([]);
  });

  const had = () => {
    const assigning = context([both]);
    for (const one of [service("first", dual), service("web", dual)]) decide(one, assigning);
    return assigning;
  };

  describe("of a pool that loses one of them", () => {
    const narrow = pool("both", ["192.0.2.0/31"]);

    test("the remaining address stays, with an event about the other", () => {
      const assigning = had();
      assigning.allocator.setPools([narrow], new Set());
      const decision = decide(service("web", { ...dual, ips: ["192.0.2.1", "2001:db8::1"] }), assigning);
      expect(texts(decision)).toEqual(["192.0.2.1"]);
      expect(reasons(decision)).toEqual(["ClearAssignment", "AdditionalAssignFailed"]);
      expect(decision.events[0]?.message).toMatch(/^Released 2001:db8::1: /);
    });

    test("both are replaced if another pool has two", () => {
      const assigning = had();
      assigning.allocator.setPools([narrow, pool("wide", ["198.51.100.0/31", "2001:db8:1::/127"])], new Set());
      const decision = decide(service("web", { ...dual, ips: ["192.0.2.1", "2001:db8::1"] }), assigning);
      expect(texts(decision)).toEqual(["198.51.100.0", "2001:db8:1::"]);
      expect(reasons(decision)).toEqual(["ClearAssignment"]);
    });
  });

  test("if two are required and the pool has one, both come from another pool", () => {
    const assigning = context([pool("a-narrow", ["198.51.100.0/31"]), both]);
    decide(service("web"), assigning);
    const decision = decide(service("web", { ...dual, ipFamilyPolicy: "RequireDualStack" }), assigning);
    expect(texts(decision)).toEqual(["192.0.2.0", "2001:db8::"]);
  });
});

test("a Service with a deletion timestamp keeps its address and gets no new one", () => {
  const assigning = context([main]);
  const going = service("web", { ips: ["192.0.2.1"] });
  going.metadata.deletionTimestamp = "2026-01-02T00:00:00Z";
  expect(texts(decide(going, assigning))).toEqual(["192.0.2.1"]);
  expect(texts(decide({ ...going, metadata: { ...going.metadata, name: "other" }, status: {} }, assigning))).toEqual([]);
});

test("after all Services are reclaimed, one that lost its address gets none that another publishes", () => {
  const assigning = context([main]);
  const lost = service("a", { ips: ["203.0.113.1"], created: "2026-01-01T00:00:00Z" });
  const carrier = service("b", { ips: ["192.0.2.0"], created: "2026-01-02T00:00:00Z" });
  for (const one of [lost, carrier]) reclaim(one, assigning);
  expect(texts(decide(lost, assigning))).toEqual(["192.0.2.1"]);
  expect(texts(decide(carrier, assigning))).toEqual(["192.0.2.0"]);
});

describe("the patch", () => {
  test("is empty if the Service publishes its addresses, whatever other fields its ingress has", () => {
    const published = service("web", { annotations: { [FROM]: "main" } });
    published.status = { loadBalancer: { ingress: [{ ip: "192.0.2.0", ipMode: "VIP" }] } };
    const { wanted } = decide(published, context([main]));
    expect(wanted && patchFor(published, wanted)).toBeUndefined();
  });

  test("sets addresses and pool together, and removes both together", () => {
    const { wanted } = decide(service("web"), context([main]));
    expect(wanted && patchFor(service("web"), wanted)).toEqual({
      metadata: { annotations: { [FROM]: "main" } },
      status: { loadBalancer: { ingress: [{ ip: "192.0.2.0" }] } },
    });
    expect(patchFor(service("web", { ips: ["192.0.2.0"], annotations: { [FROM]: "main" } }), { addresses: [] })).toEqual({
      metadata: { annotations: { [FROM]: null } },
      status: { loadBalancer: { ingress: null } },
    });
  });
});
