import { describe, expect, test } from "vitest";
import type { Pool } from "../config/config.ts";
import { addresses, allocatorWith, pool, outcomeText, addressRequest, type PoolTerms } from "../testing/allocator-fixtures.ts";

const none = new Set<string>();

test("setting the same pools again keeps track of full pools and of freed addresses", () => {
  const pools = [pool("a", ["10.0.0.0/32"]), pool("b", ["10.0.1.0/32"])];
  const { allocator, woken } = allocatorWith(...pools);
  for (const name of ["s", "t", "u"]) allocator.allocate(addressRequest(name));
  allocator.setPools(pools, none);
  allocator.release("default/s");
  expect(woken()).toEqual(["default/u"]);
  expect(outcomeText(allocator.allocate(addressRequest("u")))).toBe("a: 10.0.0.0");
});

describe("when pools change, the address of a Service", () => {
  test.each<[string, Pool[], string]>([
    ["is kept if its pool grows", [pool("a", ["10.0.9.0/24", "10.0.0.0/16"])], "a: 10.0.0.2"],
    ["is kept if its pool shrinks and still contains it", [pool("a", ["10.0.0.2/32"])], "a: 10.0.0.2"],
    ["is kept if its pool turns autoAssign off", [pool("a", ["10.0.0.0/24"], { autoAssign: false })], "a: 10.0.0.2"],
    [
      "is kept if a pool of higher priority appears",
      [pool("a", ["10.0.0.0/24"]), pool("b", ["10.0.1.0/24"], { priority: 1 })],
      "a: 10.0.0.2",
    ],
    ["moves to the new name of its pool", [pool("b", ["10.0.0.0/24"])], "b: 10.0.0.2"],
    ["moves to the half of its split pool that contains it", [pool("a", ["10.0.0.0/31"]), pool("b", ["10.0.0.2/31"])], "b: 10.0.0.2"],
    ["is lost if no pool contains it", [pool("a", ["10.0.1.0/24"])], "nothing"],
    ["is lost with the last pool", [], "nothing"],
    ["is lost if its pool now selects other namespaces", [pool("a", ["10.0.0.0/24"], { namespaces: ["red"] })], "nothing"],
    [
      "is lost if its pool now selects other Services",
      [pool("a", ["10.0.0.0/24"], { serviceSelectors: [{ matchLabels: { tier: "web" } }] })],
      "nothing",
    ],
  ])("%s", (_title, pools, expected) => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.0/24"]));
    for (const name of ["s", "t", "u"]) allocator.allocate(addressRequest(name));
    for (const name of ["s", "t"]) allocator.release(`default/${name}`);
    const lost = expected === "nothing" ? ["default/u"] : [];
    const moved = expected.startsWith("b") ? ["default/u"] : [];
    expect(allocator.setPools(pools, none)).toMatchObject({ lost, moved });
    expect(outcomeText(allocator.allocationOf("default/u"))).toBe(expected);
    expect(allocator.setPools(pools, none)).toMatchObject({ lost: [], moved: [] });
  });

  test("is lost if avoidBuggyIPs now excludes it, and only then", () => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.254-10.0.1.1"]));
    for (const name of ["s", "t", "u", "v"]) allocator.allocate(addressRequest(name));
    expect(allocator.setPools([pool("a", ["10.0.0.254-10.0.1.1"], { avoidBuggyIPs: true })], none).lost).toEqual([
      "default/t",
      "default/u",
    ]);
    expect(allocator.usage("a")).toMatchObject({ assignedIPv4: 2n, availableIPv4: 0n });
  });

  test("moves to another pool only if the Service does not request the old pool by name", () => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.0/24"]));
    allocator.allocate(addressRequest("s", { pool: "a" }));
    allocator.allocate(addressRequest("t"));
    expect(allocator.setPools([pool("b", ["10.0.0.0/24"])], none)).toMatchObject({ lost: ["default/s"], moved: ["default/t"] });
  });

  test("is reported as lost in the order of the age of the Services", () => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.0/24"]));
    for (const [index, name] of ["s", "t", "u"].entries()) allocator.allocate(addressRequest(name, { second: 9 - index }));
    expect(allocator.setPools([], none).lost).toEqual(["default/u", "default/t", "default/s"]);
  });

  test("stays shared by the same Services", () => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.0/24"]));
    for (const [index, name] of ["s", "t"].entries())
      allocator.allocate(addressRequest(name, { sharing: { key: "k", ports: [`TCP/${index}`] } }));
    expect(allocator.setPools([pool("b", ["10.0.0.0/16"])], none).moved).toEqual(["default/s", "default/t"]);
    expect(allocator.usage("b")).toMatchObject({ assignedIPv4: 1n, services: 2 });
    expect(outcomeText(allocator.allocate(addressRequest("u", { sharing: { key: "k", ports: ["TCP/0"] } })))).toBe("b: 10.0.0.1");
  });
});

describe("a pool without a valid version", () => {
  const good = [pool("a", ["10.0.0.0/30", "fc00::/126"])];

  test("keeps its allocations, allocates nothing, and counts no address as available", () => {
    const { allocator, woken } = allocatorWith(...good);
    allocator.allocate(addressRequest("s"));
    expect(allocator.setPools([], new Set(["a"]))).toMatchObject({ lost: [], moved: [] });
    expect(outcomeText(allocator.allocationOf("default/s"))).toBe("a: 10.0.0.0");
    expect(outcomeText(allocator.claim(addressRequest("s", { sharing: { ports: ["TCP/9"] } }), addresses("10.0.0.0")))).toBe("a: 10.0.0.0");
    expect(allocator.usage("a")).toEqual({ assignedIPv4: 1n, assignedIPv6: 0n, availableIPv4: 0n, availableIPv6: 0n, services: 1 });
    expect(outcomeText(allocator.allocate(addressRequest("t")))).toBe("no available IPs: pool a: its configuration is invalid");
    expect(outcomeText(allocator.allocate(addressRequest("u", { pool: "a" })))).toBe(
      "no available IPs in pool a for ipv4 IPFamily: pool a: its configuration is invalid",
    );
    expect(outcomeText(allocator.allocate(addressRequest("v", { addresses: addresses("10.0.0.1") })))).toBe(
      '["10.0.0.1"] is not allowed in config: no pool contains it',
    );
    expect(woken()).toEqual([]);

    expect(allocator.setPools(good, none)).toMatchObject({ lost: [], moved: [] });
    expect(woken()).toEqual(["default/t", "default/u", "default/v"]);
    expect(outcomeText(allocator.allocate(addressRequest("t")))).toBe("a: 10.0.0.1");
  });

  test("keeps, after a change of leader, only the addresses that Services record as allocated from it", () => {
    const { allocator } = allocatorWith();
    allocator.setPools([pool("b", ["10.0.1.0/24"])], new Set(["a"]));
    expect(outcomeText(allocator.claim(addressRequest("s", { allocatedFrom: "a" }), addresses("10.0.0.7")))).toBe("a: 10.0.0.7");
    expect(outcomeText(allocator.claim(addressRequest("t", { allocatedFrom: "b" }), addresses("10.0.0.8")))).toBe(
      '["10.0.0.8"] is not allowed in config: no pool contains it',
    );
    expect(outcomeText(allocator.claim(addressRequest("u", { allocatedFrom: "a" }), addresses("10.0.1.9")))).toBe("b: 10.0.1.9");
    expect(outcomeText(allocator.claim(addressRequest("v", { allocatedFrom: "a", second: 5 }), addresses("10.0.0.7")))).toBe(
      `can't change sharing key for "default/v", address also in use by default/s`,
    );
  });

  test("hands its addresses over to another pool that contains them, and loses those that its fixed version lacks", () => {
    const { allocator } = allocatorWith(...good);
    for (const name of ["s", "t"]) allocator.allocate(addressRequest(name));
    allocator.setPools([], new Set(["a"]));
    expect(allocator.setPools([pool("b", ["10.0.0.0/32"])], new Set(["a"]))).toMatchObject({ lost: [], moved: ["default/s"] });
    expect(allocator.setPools([pool("a", ["10.0.0.2/31"]), pool("b", ["10.0.0.0/32"])], none)).toMatchObject({
      lost: ["default/t"],
      moved: [],
    });
  });
});

describe("a claim", () => {
  test("on an address of another Service is won by the older Service, in whatever order they claim it", () => {
    for (const order of [
      ["older", "younger"],
      ["younger", "older"],
    ]) {
      const { allocator, woken } = allocatorWith(pool("a", ["10.0.0.0/24"]));
      for (const name of order) allocator.claim(addressRequest(name, { second: name === "older" ? 1 : 2 }), addresses("10.0.0.7"));
      expect(outcomeText(allocator.allocationOf("default/older"))).toBe("a: 10.0.0.7");
      expect(allocator.allocationOf("default/younger")).toBeUndefined();
      expect(woken()).toEqual(order[0] === "older" ? [] : ["default/younger"]);
    }
  });

  test("of a Service that has another address by now takes no address from a younger Service", () => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.0/24"]));
    allocator.allocate(addressRequest("older", { second: 1 }));
    allocator.allocate(addressRequest("younger", { second: 2 }));
    expect(outcomeText(allocator.claim(addressRequest("older", { second: 1 }), addresses("10.0.0.1")))).toMatch(
      "address also in use by default/younger",
    );
    expect(outcomeText(allocator.allocationOf("default/younger"))).toBe("a: 10.0.0.1");
  });

  test.each<[string, PoolTerms, string[], string]>([
    ["on an address of no pool", {}, ["192.0.2.1"], '["192.0.2.1"] is not allowed in config: no pool contains it'],
    ["on an address of the other family", {}, ["fc00::1"], '["fc00::1"] does not match the ipFamily of the service'],
    ["on two addresses of one family", {}, ["10.0.0.1", "10.0.0.2"], '["10.0.0.1" "10.0.0.2"] does not match the ipFamily of the service'],
    ["on no address", {}, [], "[] does not match the ipFamily of the service"],
    [
      "on an address of a pool for other namespaces",
      { namespaces: ["red"] },
      ["10.0.0.1"],
      "pool a not compatible for ip assignment: pool a: it is not for namespace default",
    ],
  ])("%s is rejected, and the Service has no address", (_title, terms, claimed, expected) => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.0/24", "fc00::/64"], terms));
    expect(outcomeText(allocator.claim(addressRequest("s"), addresses(...claimed)))).toBe(expected);
    expect(allocator.allocationOf("default/s")).toBeUndefined();
    expect(allocator.usage("a")?.services).toBe(0);
  });

  test("on an address other than the requested ones is rejected", () => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.0/24"]));
    expect(outcomeText(allocator.claim(addressRequest("s", { addresses: addresses("10.0.0.9") }), addresses("10.0.0.1")))).toBe(
      '["10.0.0.1"] is not what the Service requests: ["10.0.0.9"]',
    );
  });

  test("keeps the order of the addresses and is idempotent", () => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.0/24", "fc00::/64"]));
    const both = addressRequest("s", { families: [4, 6], policy: "RequireDualStack" });
    for (let time = 0; time < 3; time++) {
      expect(outcomeText(allocator.claim(both, addresses("fc00::1", "10.0.0.1")))).toBe("a: fc00::1 10.0.0.1");
      expect(allocator.usage("a")).toMatchObject({ assignedIPv4: 1n, assignedIPv6: 1n, services: 1 });
    }
  });
});
