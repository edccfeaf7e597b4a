import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Namespace } from "../../src/api/core/namespace.ts";
import { Service } from "../../src/api/core/service.ts";
import { ConfigurationState } from "../../src/api/metallb/configuration-state.ts";
import { IPAddressPool } from "../../src/api/metallb/ip-address-pool.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { BalancedCluster, eventually, METALLB, type Running } from "./fixtures/balanced-cluster.ts";

const { signal } = new AbortController();
const RANGES = "--service-cluster-ip-range=10.96.0.0/12,fd96::/108";
let cluster: BalancedCluster;
let controller: Running;

beforeAll(async () => {
  cluster = await BalancedCluster.start("lb-controller", [RANGES]);
});
afterAll(() => cluster.stop());
beforeEach(() => {
  controller = cluster.controller("controller");
});
afterEach(async () => {
  await cluster.clear();
  await controller.stop();
});

/** Long enough for anything that is going to be sent. */
const quiet = () => sleep(1_500);
const poolOf = async (name: string) => (await cluster.readService(name)).metadata.annotations?.["metallb.io/ip-allocated-from-pool"];
const recorded = (name: string, expected: RegExp) =>
  eventually(async () => expect((await cluster.events(name)).join("\n")).toMatch(expected));

const on = (port: number) => ({ ports: [{ protocol: "TCP" as const, port }], selector: { app: `on-${port}` } });

describe("addresses", () => {
  test("a Service gets one in one write, with the pool that it is from, and an Event", async () => {
    await cluster.pool("small", ["192.0.2.10-192.0.2.11"]);
    await cluster.service("web");
    await cluster.hasAddresses("web", "192.0.2.10");
    expect(await poolOf("web")).toBe("small");
    await recorded("web", /IPAllocated: Assigned IP \["192.0.2.10"\]/);
    await eventually(async () => expect((await cluster.readService("web")).status?.conditions).toHaveLength(1));
    await quiet();
    const patches = (await cluster.writes("controller")).filter((write) => write.includes("services/web/status"));
    // The second one is its condition.
    expect(patches).toEqual(["patch services/web/status 200", "patch services/web/status 200"]);
  });

  test("a freed address goes to the waiting Service, whose Event named the pools that were tried", async () => {
    await cluster.pool("one", ["192.0.2.20/32"]);
    await cluster.service("first");
    await cluster.hasAddresses("first", "192.0.2.20");
    await cluster.service("second");
    await recorded("second", /AllocationFailed: .*one/);
    expect(await cluster.addresses("second")).toEqual([]);
    await cluster.removeService("first");
    await cluster.hasAddresses("second", "192.0.2.20");
  });

  test("a restarted controller keeps every Service's address before it allocates new ones", async () => {
    await cluster.pool("few", ["192.0.2.30-192.0.2.31"]);
    for (const name of ["a", "b"]) await cluster.service(name);
    await cluster.hasAddresses("a", "192.0.2.30");
    await cluster.hasAddresses("b", "192.0.2.31");
    await controller.stop();
    await cluster.removeService("a");
    // By its name it comes before those who have something.
    await cluster.service("0-pending");
    controller = cluster.controller("anew");
    await cluster.hasAddresses("0-pending", "192.0.2.30");
    expect(await cluster.addresses("b")).toEqual(["192.0.2.31"]);
  });

  test("of two Services with the same address the younger gets another one and an Event", async () => {
    await controller.stop();
    await cluster.pool("double", ["192.0.2.40-192.0.2.41"]);
    await cluster.service("older");
    await sleep(1_100);
    await cluster.service("a-younger");
    const carried = { status: { loadBalancer: { ingress: [{ ip: "192.0.2.40" }] } } };
    for (const name of ["older", "a-younger"]) await cluster.editService(name, carried, "status");
    controller = cluster.controller("doubles");
    await cluster.hasAddresses("a-younger", "192.0.2.41");
    expect(await cluster.addresses("older")).toEqual(["192.0.2.40"]);
    await recorded("a-younger", /ClearAssignment: .*192.0.2.40/);
  });

  test("addresses removed or added by others are reverted", async () => {
    await cluster.pool("edited", ["192.0.2.50-192.0.2.59"]);
    await cluster.service("web");
    await cluster.hasAddresses("web", "192.0.2.50");
    await cluster.editService("web", { status: { loadBalancer: { ingress: [{ ip: "192.0.2.55" }] } } }, "status");
    await cluster.hasAddresses("web", "192.0.2.50");
    await cluster.editService("web", { status: { loadBalancer: null } }, "status");
    await cluster.hasAddresses("web", "192.0.2.50");
    await cluster.annotate("web", { "metallb.io/ip-allocated-from-pool": null });
    await eventually(async () => expect(await poolOf("web")).toBe("edited"));
  });

  test("another writer that keeps overwriting the address is named in an Event, is answered with backoff, and does not win", async () => {
    await cluster.pool("contested", ["192.0.2.62/32"]);
    await cluster.service("web");
    await cluster.hasAddresses("web", "192.0.2.62");
    const rival = new KubeClient(cluster.api.access, { userAgent: "cloud-thing" });
    const theirs = { status: { loadBalancer: { ingress: [{ ip: "203.0.113.7" }] } } };
    const sent = async () => (await cluster.writes("controller")).filter((write) => write.startsWith("patch services/web/status")).length;
    const before = await sent();
    for (const end = Date.now() + 4_000; Date.now() < end; await sleep(10)) {
      await rival.resource(Service).patchStatus({ name: "web", namespace: "shop" }, theirs, { signal });
    }
    rival.close();
    await recorded("web", /AddressConflict: cloud-thing overwrites the Service's address \(203.0.113.7 instead of 192.0.2.62\)/);
    expect((await sent()) - before).toBeLessThan(12);
    await cluster.hasAddresses("web", "192.0.2.62");
  });

  test("a dual-stack Service gets two families, and the second is added when the pool gets it", async () => {
    await cluster.pool("dual", ["192.0.2.60/30"]);
    await cluster.service("prefers", { ipFamilyPolicy: "PreferDualStack" });
    await cluster.hasAddresses("prefers", "192.0.2.60");
    await recorded("prefers", /AdditionalAssignFailed/);
    await cluster.editPool("dual", { addresses: ["192.0.2.60/30", "2001:db8::/126"] });
    await cluster.hasAddresses("prefers", "192.0.2.60", "2001:db8::");
    await cluster.service("requires", { ipFamilyPolicy: "RequireDualStack" });
    await cluster.hasAddresses("requires", "192.0.2.61", "2001:db8::1");
    expect(await poolOf("requires")).toBe("dual");
  });

  test("a requested address is assigned with either annotation prefix, and an invalid request fails only its own Service", async () => {
    await cluster.pool("asked", ["192.0.2.70-192.0.2.79"]);
    await cluster.service("new", { annotations: { "metallb.io/loadBalancerIPs": "192.0.2.75" } });
    await cluster.service("old", { annotations: { "metallb.universe.tf/loadBalancerIPs": "192.0.2.76" } });
    await cluster.service("garbage", { annotations: { "metallb.io/loadBalancerIPs": "not, an address" } });
    await cluster.hasAddresses("new", "192.0.2.75");
    await cluster.hasAddresses("old", "192.0.2.76");
    await recorded("old", /deprecatedAnnotation/);
    await recorded("garbage", /LoadBalancerFailed: .*not, an address/);
    await eventually(async () =>
      expect((await cluster.readService("garbage")).status?.conditions).toMatchObject([{ status: "False", reason: "noIPAllocated" }]),
    );
    await cluster.service("after");
    await cluster.hasAddresses("after", "192.0.2.70");
  });

  test("a Service that changes its request gets the new address, or keeps the old one if the request cannot be met", async () => {
    await cluster.pool("first", ["192.0.2.80-192.0.2.81"]);
    await cluster.pool("second", ["192.0.2.90/32"], { autoAssign: false });
    await cluster.service("mover");
    await cluster.service("holder", { annotations: { "metallb.io/address-pool": "second" } });
    await cluster.hasAddresses("mover", "192.0.2.80");
    await cluster.hasAddresses("holder", "192.0.2.90");
    await cluster.annotate("mover", { "metallb.io/address-pool": "second" });
    await recorded("mover", /AllocationFailed: .*second.*keeping 192.0.2.80/);
    expect(await cluster.addresses("mover")).toEqual(["192.0.2.80"]);
    await cluster.removeService("holder");
    await cluster.hasAddresses("mover", "192.0.2.90");
    expect(await poolOf("mover")).toBe("second");
  });

  test("an address is shared while key, ports and backend allow it, and a Service that no longer may share gets another", async () => {
    await cluster.pool("shared", ["192.0.2.110-192.0.2.112"]);
    const annotations = { "metallb.io/allow-shared-ip": "together" };
    await cluster.service("http", { annotations, ...on(80) });
    await cluster.hasAddresses("http", "192.0.2.110");
    await cluster.service("https", { annotations, ...on(443) });
    await cluster.hasAddresses("https", "192.0.2.110");
    await cluster.service("http-too", { annotations, ...on(80) });
    await cluster.hasAddresses("http-too", "192.0.2.111");
    await cluster.editService("https", { spec: { externalTrafficPolicy: "Local" } });
    await cluster.hasAddresses("https", "192.0.2.112");
    await recorded("https", /ClearAssignment: Released 192.0.2.110/);
    expect(await cluster.addresses("http")).toEqual(["192.0.2.110"]);
  });

  test("a Service that is no longer ours releases its address", async () => {
    await cluster.pool("back", ["192.0.2.100/32"]);
    await cluster.service("web");
    await cluster.hasAddresses("web", "192.0.2.100");
    await cluster.service("next");
    await cluster.editService("web", { spec: { type: "ClusterIP", allocateLoadBalancerNodePorts: null, externalTrafficPolicy: null } });
    await cluster.hasAddresses("next", "192.0.2.100");
    await eventually(async () => expect(await poolOf("web")).toBeUndefined());
    expect(await cluster.addresses("web")).toEqual([]);
  });
});

describe("pools that change", () => {
  test("the Services of a deleted pool get addresses of another, or none without a pool", async () => {
    await cluster.pool("a-going", ["192.0.2.110/32"]);
    await cluster.pool("b-staying", ["192.0.2.120/32"]);
    await cluster.service("web");
    await cluster.hasAddresses("web", "192.0.2.110");
    const pools = cluster.client.resource(IPAddressPool);
    await pools.delete({ name: "a-going", namespace: METALLB }, { signal });
    await cluster.hasAddresses("web", "192.0.2.120");
    await recorded("web", /ClearAssignment: .*192.0.2.110/);
    await pools.delete({ name: "b-staying", namespace: METALLB }, { signal });
    await cluster.hasAddresses("web");
    expect(await poolOf("web")).toBeUndefined();
  });

  test("a pool that becomes invalid keeps its last good version, also with a new controller, and one without a good version allocates nothing", async () => {
    await cluster.pool("breaking", ["192.0.2.130-192.0.2.131"]);
    await cluster.pool("never-good", ["192.0.2.135/32", "garbage"]);
    await cluster.service("web");
    await cluster.hasAddresses("web", "192.0.2.130");
    await eventually(async () => expect((await cluster.readPool("breaking")).status?.claims).toHaveLength(1));
    await cluster.editPool("breaking", { addresses: ["garbage"] });
    await controller.stop();
    controller = cluster.controller("after-breaking");
    await cluster.service("other");
    await cluster.hasAddresses("other", "192.0.2.131");
    expect(await cluster.addresses("web")).toEqual(["192.0.2.130"]);
    const states = cluster.client.resource(ConfigurationState);
    const resources = [
      { name: "breaking", state: "KeptPrevious" },
      { name: "never-good", state: "Failed" },
    ];
    await eventually(async () =>
      expect((await states.get("controller", { namespace: METALLB, signal })).status).toMatchObject({
        result: "Invalid",
        resources,
      }),
    );
    await cluster.service("third");
    await recorded("third", /AllocationFailed/);
    await eventually(async () =>
      expect((await cluster.readPool("breaking")).status).toMatchObject({ assignedIPV4: 2, availableIPV4: 0, services: 2 }),
    );
    await cluster.editPool("breaking", { addresses: ["192.0.2.130-192.0.2.132"] });
    await cluster.hasAddresses("third", "192.0.2.132");
    expect(await cluster.addresses("web")).toEqual(["192.0.2.130"]);
  });

  test("a pool with namespaces serves only those, also a namespace that gets its label later", async () => {
    await cluster.pool("labeled", ["192.0.2.140/32"], {
      serviceAllocation: { namespaceSelectors: [{ matchLabels: { team: "shop" } }] },
    });
    await cluster.service("web");
    await recorded("web", /AllocationFailed: .*labeled/);
    await cluster.client.resource(Namespace).patch({ name: "shop" }, { metadata: { labels: { team: "shop" } } }, { signal });
    await cluster.hasAddresses("web", "192.0.2.140");
    expect(await poolOf("web")).toBe("labeled");
    await cluster.client.resource(Namespace).patch({ name: "shop" }, { metadata: { labels: { team: null } } }, { signal });
  });
});

test("without pools, addresses from another controller stay", async () => {
  await cluster.service("cloud");
  await cluster.editService("cloud", { status: { loadBalancer: { ingress: [{ ip: "203.0.113.7" }] } } }, "status");
  await quiet();
  expect(await cluster.addresses("cloud")).toEqual(["203.0.113.7"]);
});

describe("with two controllers of different classes on the same pools", () => {
  let other: Running;
  beforeEach(() => {
    other = cluster.controller("classy", { lbClass: "example.com/edge" });
  });
  afterEach(() => other.stop());
  const edge = { loadBalancerClass: "example.com/edge" };

  test("each controller serves its own class and leaves the other's addresses alone", async () => {
    await cluster.pool("classes", ["192.0.2.150-192.0.2.152"]);
    await cluster.service("theirs", { loadBalancerClass: "example.com/other" });
    await cluster.service("classy", edge);
    await cluster.hasAddresses("classy", "192.0.2.150");
    await cluster.service("plain");
    await cluster.hasAddresses("plain", "192.0.2.151");
    await cluster.service("classy-too", edge);
    await cluster.hasAddresses("classy-too", "192.0.2.152");
    await cluster.service("plain-too");
    await recorded("plain-too", /AllocationFailed: .*all 3 IPv4 addresses are in use/);
    await cluster.removeService("classy");
    await cluster.hasAddresses("plain-too", "192.0.2.150");
    expect(await cluster.addresses("theirs")).toEqual([]);
    const counted = { assignedIPV4: 3, availableIPV4: 0, services: 3 };
    await eventually(async () => expect((await cluster.readPool("classes")).status).toMatchObject(counted));
    // Both count the same, so neither writes what the other would have to correct.
    await quiet();
    const writes = async () => (await cluster.writes("")).filter((write) => write.includes("ipaddresspools/classes/status"));
    const before = (await writes()).length;
    await quiet();
    expect(await writes()).toHaveLength(before);
  });

  test("an address that both assign at the same time stays with the older Service, and the younger gets another", async () => {
    await Promise.all([controller.stop(), other.stop()]);
    await cluster.pool("both", ["192.0.2.160-192.0.2.161"]);
    await cluster.service("plain");
    await sleep(1_100);
    await cluster.service("a-classy", edge);
    const carried = { status: { loadBalancer: { ingress: [{ ip: "192.0.2.160" }] } } };
    for (const name of ["plain", "a-classy"]) await cluster.editService(name, carried, "status");
    controller = cluster.controller("controller");
    other = cluster.controller("classy", { lbClass: "example.com/edge" });
    await cluster.hasAddresses("a-classy", "192.0.2.161");
    await recorded("a-classy", /ClearAssignment: .*192.0.2.160/);
    expect(await cluster.addresses("plain")).toEqual(["192.0.2.160"]);
  });
});
