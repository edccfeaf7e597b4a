import { describe, expect, test } from "vitest";
import { addresses, allocatorWith, dual, pool, outcomeText, addressRequest } from "../testing/allocator-fixtures.ts";

const none = new Set<string>();
const noneIsPublished = () => false;
const everyone = () => true;
const foreign = (name: string, second = 0) => addressRequest(name, { second, namespace: "theirs" });

describe("an address of a Service of another controller", () => {
  test("is allocated to no other Service and counts as in use until its Service releases it", () => {
    const { allocator, woken } = allocatorWith(pool("a", ["10.0.0.0/31"]));
    allocator.reserve(foreign("x"), addresses("10.0.0.0"), noneIsPublished);
    expect(outcomeText(allocator.allocate(addressRequest("s")))).toBe("a: 10.0.0.1");
    expect(allocator.usage("a")).toMatchObject({ assignedIPv4: 2n, availableIPv4: 0n, services: 2 });
    allocator.allocate(addressRequest("t"));
    expect(outcomeText(allocator.allocate(addressRequest("u", { addresses: addresses("10.0.0.0") })))).toMatch(
      "address also in use by theirs/x",
    );
    expect(allocator.allocationOf("theirs/x")).toBeUndefined();
    allocator.reserve(foreign("x"), [], noneIsPublished);
    expect(woken()).toEqual(["default/t", "default/u"]);
    expect(outcomeText(allocator.allocate(addressRequest("t")))).toBe("a: 10.0.0.0");
  });

  test("is no longer reserved when the Service is deleted or becomes ours", () => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.0/31"]));
    for (const name of ["x", "y"]) allocator.reserve(foreign(name), addresses(name === "x" ? "10.0.0.0" : "10.0.0.1"), noneIsPublished);
    allocator.release("theirs/x");
    expect(outcomeText(allocator.claim(foreign("y"), addresses("10.0.0.1")))).toBe("a: 10.0.0.1");
    expect(outcomeText(allocator.allocationOf("theirs/y"))).toBe("a: 10.0.0.1");
    expect(allocator.usage("a")).toMatchObject({ assignedIPv4: 1n, services: 1 });
  });

  test("stays reserved across two pools, outside of all pools, and when a new pool contains it", () => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.0/31"]), pool("b", ["fc00::/127"]));
    allocator.reserve(foreign("x"), addresses("10.0.0.0", "fc00::"), noneIsPublished);
    allocator.reserve(foreign("y"), addresses("192.0.2.0"), noneIsPublished);
    expect(outcomeText(allocator.allocate(addressRequest("s")))).toBe("a: 10.0.0.1");
    expect(outcomeText(allocator.allocate(addressRequest("t", { families: [6] })))).toBe("b: fc00::1");
    expect(allocator.setPools([pool("c", ["192.0.2.0/31", "10.0.0.0/31", "fc00::/127"])], none)).toMatchObject({
      lost: [],
      moved: ["default/s", "default/t"],
    });
    expect(outcomeText(allocator.allocate(addressRequest("u")))).toBe("c: 192.0.2.1");
    expect(allocator.usage("c")).toMatchObject({ assignedIPv4: 4n, assignedIPv6: 2n, availableIPv4: 0n, availableIPv6: 0n });
    allocator.setPools([], none);
    allocator.release("theirs/x");
    allocator.setPools([pool("c", ["192.0.2.0/31", "10.0.0.0/31"])], none);
    expect(allocator.usage("c")).toMatchObject({ assignedIPv4: 1n, services: 1 });
  });

  test("is taken from a younger Service of ours, and from an older one only if that does not publish it", () => {
    const { allocator, woken } = allocatorWith(pool("a", ["10.0.0.0/29"]));
    for (const [second, name] of ["s", "t", "u"].entries()) allocator.allocate(addressRequest(name, { second }));
    allocator.reserve(foreign("x", 1), addresses("10.0.0.2"), everyone);
    expect(woken()).toEqual(["default/u"]);
    allocator.reserve(foreign("y", 1), addresses("10.0.0.0"), everyone);
    expect(woken()).toEqual([]);
    expect(outcomeText(allocator.allocationOf("default/s"))).toBe("a: 10.0.0.0");
    allocator.reserve(foreign("y", 1), addresses("10.0.0.0"), noneIsPublished);
    expect(woken()).toEqual(["default/s"]);
    expect(allocator.allocationOf("default/s")).toBeUndefined();
  });

  test("may be shared by Services of other controllers and is free after the last one releases it", () => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.0/32"]));
    for (const name of ["x", "y"]) allocator.reserve(foreign(name), addresses("10.0.0.0"), noneIsPublished);
    allocator.release("theirs/x");
    expect(outcomeText(allocator.allocate(addressRequest("s")))).toMatch(/^no available IPs/);
    allocator.release("theirs/y");
    expect(outcomeText(allocator.allocate(addressRequest("s")))).toBe("a: 10.0.0.0");
  });

  test("is not counted in a pool that never allocates it (avoidBuggyIPs)", () => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.0/31"], { avoidBuggyIPs: true }));
    allocator.reserve(foreign("x"), addresses("10.0.0.0", "10.0.0.1"), noneIsPublished);
    expect(allocator.usage("a")).toMatchObject({ assignedIPv4: 1n, availableIPv4: 0n });
  });

  test("stays reserved when a pool edit excludes other Services from the pool", () => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.0/30", "fc00::/126"]));
    allocator.reserve(foreign("x"), addresses("10.0.0.0", "fc00::"), noneIsPublished);
    allocator.allocate(addressRequest("s", dual));
    const narrow = pool("a", ["10.0.0.0/30", "fc00::/126"], { namespaces: ["red"] });
    expect(allocator.setPools([narrow], none)).toMatchObject({ lost: ["default/s"], moved: [] });
    expect(allocator.usage("a")).toMatchObject({ assignedIPv4: 1n, assignedIPv6: 1n, services: 1 });
  });
});
