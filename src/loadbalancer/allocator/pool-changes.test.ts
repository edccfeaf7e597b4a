import { describe, expect, test } from "vitest";
import type { Pool } from "../config/config.ts";
import { addresses, allocatorWith, pool, outcomeText, addressRequest, type PoolTerms } from "../testing/allocator-fixtures.ts";

const none = new Set<string>();

test("the same pools once more change nothing about what is found to be full and free again", () => {
  const pools = [pool("a", ["10.0.0.0/32"]), pool("b", ["10.0.1.0/32"])];
  const { allocator, woken } = allocatorWith(...pools);
  for (const name of ["s", "t", "u"]) allocator.allocate(addressRequest(name));
  allocator.setPools(pools, none);
  allocator.release("default/s");
  expect(woken()).toEqual(["default/u"]);
  expect(outcomeText(allocator.allocate(addressRequest("u")))).toBe("a: 10.0.0.0");
});

describe("when pools change, what a Service holds", () => {
  test.each<[string, Pool[], string]>([
    ["stays where its pool grows", [pool("a", ["10.0.9.0/24", "10.0.0.0/16"])], "a: 10.0.0.2"],
    ["stays where its pool shrinks around it", [pool("a", ["10.0.0.2/32"])], "a: 10.0.0.2"],
    ["stays where its pool is no longer automatic", [pool("a", ["10.0.0.0/24"], { autoAssign: false })], "a: 10.0.0.2"],
    ["stays where a better pool appears", [pool("a", ["10.0.0.0/24"]), pool("b", ["10.0.1.0/24"], { priority: 1 })], "a: 10.0.0.2"],
    ["moves with its pool's new name", [pool("b", ["10.0.0.0/24"])], "b: 10.0.0.2"],
    ["moves into the half that it is in", [pool("a", ["10.0.0.0/31"]), pool("b", ["10.0.0.2/31"])], "b: 10.0.0.2"],
    ["is lost where no pool has it", [pool("a", ["10.0.1.0/24"])], "nothing"],
    ["is lost with the last pool", [], "nothing"],
    ["is lost where its pool turns to other namespaces", [pool("a", ["10.0.0.0/24"], { namespaces: ["red"] })], "nothing"],
    [
      "is lost where its pool turns to other Services",
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

  test("is lost where it has become buggy, and only there", () => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.254-10.0.1.1"]));
    for (const name of ["s", "t", "u", "v"]) allocator.allocate(addressRequest(name));
    expect(allocator.setPools([pool("a", ["10.0.0.254-10.0.1.1"], { avoidBuggyIPs: true })], none).lost).toEqual([
      "default/t",
      "default/u",
    ]);
    expect(allocator.usage("a")).toMatchObject({ assignedIPv4: 2n, availableIPv4: 0n });
  });

  test("moves to another pool only where the Service does not name the old one", () => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.0/24"]));
    allocator.allocate(addressRequest("s", { pool: "a" }));
    allocator.allocate(addressRequest("t"));
    expect(allocator.setPools([pool("b", ["10.0.0.0/24"])], none)).toMatchObject({ lost: ["default/s"], moved: ["default/t"] });
  });

  test("is told of the older Services first", () => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.0/24"]));
    for (const [index, name] of ["s", "t", "u"].entries()) allocator.allocate(addressRequest(name, { second: 9 - index }));
    expect(allocator.setPools([], none).lost).toEqual(["default/u", "default/t", "default/s"]);
  });

  test("is still shared by the same Services", () => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.0/24"]));
    for (const [index, name] of ["s", "t"].entries())
      allocator.allocate(addressRequest(name, { sharing: { key: "k", ports: [`TCP/${index}`] } }));
    expect(allocator.setPools([pool("b", ["10.0.0.0/16"])], none).moved).toEqual(["default/s", "default/t"]);
    expect(allocator.usage("b")).toMatchObject({ assignedIPv4: 1n, services: 2 });
    expect(outcomeText(allocator.allocate(addressRequest("u", { sharing: { key: "k", ports: ["TCP/0"] } })))).toBe("b: 10.0.0.1");
  });
});

describe("a pool that is broken", () => {
  const good = [pool("a", ["10.0.0.0/30", "fc00::/126"])];

  test("keeps what it gave, gives nothing, and has nothing left", () => {
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

  test("keeps after a change of leader what the Services say is from it, and nothing else", () => {
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

  test("hands over what another pool has now, and loses what its new form lacks", () => {
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
  test("of what another has goes to the older one, in whatever order they are heard", () => {
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

  test("of a Service that has moved on in the meantime takes nothing from anyone", () => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.0/24"]));
    allocator.allocate(addressRequest("older", { second: 1 }));
    allocator.allocate(addressRequest("younger", { second: 2 }));
    expect(outcomeText(allocator.claim(addressRequest("older", { second: 1 }), addresses("10.0.0.1")))).toMatch(
      "address also in use by default/younger",
    );
    expect(outcomeText(allocator.allocationOf("default/younger"))).toBe("a: 10.0.0.1");
  });

  test.each<[string, PoolTerms, string[], string]>([
    ["of an address that is in no pool", {}, ["192.0.2.1"], '["192.0.2.1"] is not allowed in config: no pool contains it'],
    ["of an address of the other family", {}, ["fc00::1"], '["fc00::1"] does not match the ipFamily of the service'],
    ["of two of one family", {}, ["10.0.0.1", "10.0.0.2"], '["10.0.0.1" "10.0.0.2"] does not match the ipFamily of the service'],
    ["of nothing", {}, [], "[] does not match the ipFamily of the service"],
    [
      "of an address of a pool for others",
      { namespaces: ["red"] },
      ["10.0.0.1"],
      "pool a not compatible for ip assignment: pool a: it is not for namespace default",
    ],
  ])("%s is refused, and the Service holds nothing", (_title, terms, claimed, expected) => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.0/24", "fc00::/64"], terms));
    expect(outcomeText(allocator.claim(addressRequest("s"), addresses(...claimed)))).toBe(expected);
    expect(allocator.allocationOf("default/s")).toBeUndefined();
    expect(allocator.usage("a")?.services).toBe(0);
  });

  test("of anything but the addresses that the Service asks for is refused", () => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.0/24"]));
    expect(outcomeText(allocator.claim(addressRequest("s", { addresses: addresses("10.0.0.9") }), addresses("10.0.0.1")))).toBe(
      '["10.0.0.1"] is not what the Service requests: ["10.0.0.9"]',
    );
  });

  test("keeps the order of the addresses, and is the same when it is repeated", () => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.0/24", "fc00::/64"]));
    const both = addressRequest("s", { families: [4, 6], policy: "RequireDualStack" });
    for (let time = 0; time < 3; time++) {
      expect(outcomeText(allocator.claim(both, addresses("fc00::1", "10.0.0.1")))).toBe("a: fc00::1 10.0.0.1");
      expect(allocator.usage("a")).toMatchObject({ assignedIPv4: 1n, assignedIPv6: 1n, services: 1 });
    }
  });
});
