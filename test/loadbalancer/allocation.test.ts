import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Namespace } from "../../src/api/core/namespace.ts";
import type { Service } from "../../src/api/core/service.ts";
import { IPAddressPool } from "../../src/api/metallb/ip-address-pool.ts";
import { BalancedCluster, eventually, METALLB, type Running } from "./fixtures/balanced-cluster.ts";

// Which address of which pool, as users see it, on a real API server with both families.

const { signal } = new AbortController();
let cluster: BalancedCluster;
let controller: Running;

beforeAll(async () => {
  cluster = await BalancedCluster.start("lb-allocation", ["--service-cluster-ip-range=10.96.0.0/12,fd96::/108"]);
  controller = cluster.controller("controller");
});
afterAll(async () => {
  await controller.stop();
  await cluster.stop();
});
afterEach(() => cluster.clear());

const poolOf = async (name: string) => (await cluster.readService(name)).metadata.annotations?.["metallb.io/ip-allocated-from-pool"];
const isFrom = (name: string, pool: string) => eventually(async () => expect(await poolOf(name)).toBe(pool));
const label = (team: string | null) =>
  cluster.client.resource(Namespace).patch({ name: "shop" }, { metadata: { labels: { team } } }, { signal });
const allocationFails = (name: string) =>
  eventually(async () => expect((await cluster.events(name)).join("\n")).toMatch(/AllocationFailed: /));
const prefer = (more: Partial<Service["spec"]> = {}) => cluster.service("web", { ipFamilyPolicy: "PreferDualStack", ...more });
const forShop = (priority: number) => ({ serviceAllocation: { priority, namespaces: ["shop"] } });
const removePool = (name: string) => cluster.client.resource(IPAddressPool).delete({ name, namespace: METALLB }, { signal });

describe("two Services that share an address", () => {
  const annotations = { "metallb.io/allow-shared-ip": "key", "metallb.io/loadBalancerIPs": "192.0.2.10" };
  const service = (name: string, port: number, more: Partial<Service["spec"]> = {}) =>
    cluster.service(name, { annotations, ports: [{ protocol: "TCP", port }], selector: { app: "web" }, ...more });

  test("share it under policy Local only with the same endpoints, checked again when a selector changes", async () => {
    await cluster.pool("shared", ["192.0.2.10/32"]);
    await service("one", 80, { externalTrafficPolicy: "Local" });
    await cluster.hasAddresses("one", "192.0.2.10");
    await service("two", 81, { externalTrafficPolicy: "Local", selector: { app: "other" } });
    await allocationFails("two");
    expect(await cluster.addresses("two")).toEqual([]);
    await cluster.editService("two", { spec: { selector: { app: "web" } } });
    await cluster.hasAddresses("two", "192.0.2.10");
  });

  test("do not share it with another policy, checked again when the policy changes", async () => {
    await cluster.pool("shared", ["192.0.2.10/32"]);
    await service("one", 80, { externalTrafficPolicy: "Local" });
    await cluster.hasAddresses("one", "192.0.2.10");
    await service("two", 81);
    await allocationFails("two");
    await cluster.editService("one", { spec: { externalTrafficPolicy: "Cluster" } });
    await cluster.hasAddresses("two", "192.0.2.10");
    expect(await cluster.addresses("one")).toEqual(["192.0.2.10"]);
  });

  test("never share a port of one protocol", async () => {
    await cluster.pool("shared", ["192.0.2.10/32"]);
    await service("one", 53);
    await service("two", 53, { ports: [{ protocol: "UDP", port: 53 }] });
    await cluster.hasAddresses("two", "192.0.2.10");
    await service("three", 53);
    await allocationFails("three");
    expect((await cluster.events("three")).join("\n")).toContain("TCP/53");
    await cluster.removeService("one");
    await cluster.hasAddresses("three", "192.0.2.10");
  });
});

describe("pools with a serviceAllocation", () => {
  test("are used before generic pools, by priority, and the next one when one is full", async () => {
    await cluster.pool("a-late", ["192.0.2.20/32"], forShop(20));
    await cluster.pool("b-early", ["192.0.2.30/32"], forShop(10));
    await cluster.pool("c-without", ["192.0.2.40/32"], forShop(0));
    await cluster.pool("a-for-all", ["192.0.2.50/32"]);
    for (const [name, pool] of [
      ["first", "b-early"],
      ["second", "a-late"],
      ["third", "c-without"],
      ["fourth", "a-for-all"],
    ] as const) {
      await cluster.service(name);
      await eventually(async () => expect(await poolOf(name)).toBe(pool));
    }
  });

  test("select Services by label, and a Service that gets the label later is served then", async () => {
    await cluster.pool("labeled", ["192.0.2.60/32"], { serviceAllocation: { serviceSelectors: [{ matchLabels: { tier: "gold" } }] } });
    await cluster.service("web");
    await eventually(async () => expect((await cluster.events("web")).join("\n")).toMatch(/AllocationFailed: .*labeled/));
    await cluster.editService("web", { metadata: { labels: { tier: "gold" } } });
    await cluster.hasAddresses("web", "192.0.2.60");
  });

  test("release the address of a Service whose Namespace no longer matches", async () => {
    await label("shop");
    await cluster.pool("team", ["192.0.2.70/32"], { serviceAllocation: { namespaceSelectors: [{ matchLabels: { team: "shop" } }] } });
    await cluster.pool("z-for-all", ["192.0.2.80/32"]);
    await cluster.service("web");
    await isFrom("web", "team");
    await label(null);
    await cluster.hasAddresses("web", "192.0.2.80");
    expect(await poolOf("web")).toBe("z-for-all");
  });
});

describe("a Service that prefers both families", () => {
  test("gets both from one pool that has both, although another pool sorts first", async () => {
    await cluster.pool("a-four", ["192.0.2.10/32"]);
    await cluster.pool("b-six", ["2001:db8:1::/128"]);
    await cluster.pool("c-both", ["192.0.2.20/32", "2001:db8::/128"]);
    await cluster.knowsPool("c-both");
    await prefer();
    await cluster.hasAddresses("web", "192.0.2.20", "2001:db8::");
    expect(await poolOf("web")).toBe("c-both");
  });

  test("gets one of its first family if no pool has both", async () => {
    await cluster.pool("a-six", ["2001:db8::/128"]);
    await cluster.pool("b-four", ["192.0.2.10/32"]);
    await cluster.knowsPool("b-four");
    await prefer();
    await cluster.hasAddresses("web", "192.0.2.10");
    expect(await poolOf("web")).toBe("b-four");
  });

  test("gets one of its first family, also if that is IPv6", async () => {
    await cluster.pool("a-four", ["192.0.2.10/32"]);
    await cluster.pool("b-six", ["2001:db8::/128"]);
    await cluster.knowsPool("b-six");
    await prefer({ ipFamilies: ["IPv6", "IPv4"] });
    await cluster.hasAddresses("web", "2001:db8::");
    expect(await poolOf("web")).toBe("b-six");
  });

  test("gets one of its second family if there is no other", async () => {
    await cluster.pool("six", ["2001:db8::/128"]);
    await prefer();
    await cluster.hasAddresses("web", "2001:db8::");
    expect(await poolOf("web")).toBe("six");
  });

  test("keeps its first address when its pool gets the other family", async () => {
    await cluster.pool("growing", ["192.0.2.10-192.0.2.11"]);
    await prefer();
    await cluster.hasAddresses("web", "192.0.2.10");
    await cluster.editPool("growing", { addresses: ["192.0.2.10-192.0.2.11", "2001:db8::/128"] });
    await cluster.hasAddresses("web", "192.0.2.10", "2001:db8::");
    expect(await poolOf("web")).toBe("growing");
  });

  test("gets both from another pool when its own loses a family", async () => {
    await cluster.pool("a-shrinking", ["192.0.2.10/32", "2001:db8::/128"]);
    await prefer();
    await cluster.hasAddresses("web", "192.0.2.10", "2001:db8::");
    await cluster.pool("b-whole", ["192.0.2.20/32", "2001:db8:1::/128"]);
    await cluster.editPool("a-shrinking", { addresses: ["192.0.2.10/32"] });
    await cluster.hasAddresses("web", "192.0.2.20", "2001:db8:1::");
    expect(await poolOf("web")).toBe("b-whole");
  });
});

describe("deleted pools", () => {
  test("a pool that is recreated under another name keeps its Services and their addresses", async () => {
    await cluster.pool("old", ["192.0.2.10-192.0.2.11"]);
    await cluster.service("web");
    await cluster.hasAddresses("web", "192.0.2.10");
    await removePool("old");
    await cluster.pool("new", ["192.0.2.10-192.0.2.11"]);
    await isFrom("web", "new");
    expect(await cluster.addresses("web")).toEqual(["192.0.2.10"]);
  });

  test("deleting all pools releases every address, and a new pool serves all Services again", async () => {
    await cluster.pool("a", ["192.0.2.10/32"]);
    await cluster.pool("b", ["192.0.2.20/32"]);
    for (const name of ["one", "two"]) await cluster.service(name);
    await cluster.hasAddresses("one", "192.0.2.10");
    await cluster.hasAddresses("two", "192.0.2.20");
    for (const name of ["a", "b"]) await removePool(name);
    for (const name of ["one", "two"]) await cluster.hasAddresses(name);
    await cluster.pool("c", ["192.0.2.30-192.0.2.31"]);
    for (const name of ["one", "two"]) await eventually(async () => expect(await cluster.addresses(name)).toHaveLength(1));
  });
});
