import { describe, expect, test } from "vitest";
import {
  addresses,
  allocatorWith,
  dual,
  pool,
  preferDual,
  outcomeText,
  addressRequest,
  type RequestTerms,
} from "../testing/allocator-fixtures.ts";

const shares = (ports: string[], key = "k") => ({ sharing: { key, ports } });

describe("an address that becomes free wakes", () => {
  const pools = [
    pool("any", ["10.0.0.0/32"]),
    pool("red", ["10.0.1.0/32"], { namespaces: ["red"] }),
    pool("asked", ["10.0.2.0/32"], { autoAssign: false }),
    pool("six", ["fc00::/128"]),
  ];

  test.each<[string, string, string[]]>([
    ["all Services that may use its pool, if the pool is for all", "any", ["default/any", "default/prefers", "red/red"]],
    ["the Services that its pool selects", "red", ["red/red"]],
    ["the Services that request its pool or the address itself", "asked", ["default/asked", "default/exactly"]],
    ["the Services of its family", "six", ["default/prefers", "default/six"]],
  ])("%s, once", (_title, freed, expected) => {
    const { allocator, woken } = allocatorWith(...pools);
    for (const { name } of pools) {
      const namespace = name === "red" ? "red" : "default";
      allocator.allocate(addressRequest(`has-${name}`, { pool: name, namespace, families: [name === "six" ? 6 : 4] }));
    }
    const waiting: [string, RequestTerms][] = [
      ["any", {}],
      ["red", { namespace: "red" }],
      ["asked", { pool: "asked" }],
      ["exactly", { addresses: addresses("10.0.2.0") }],
      ["six", { families: [6] }],
      ["both", dual],
      ["prefers", preferDual],
      ["nowhere", { pool: "blue" }],
      ["beyond", { addresses: addresses("192.0.2.1") }],
    ];
    for (const [name, terms] of waiting) expect(allocator.allocate(addressRequest(name, terms))).toHaveProperty("noAddress");

    const key = `${freed === "red" ? "red" : "default"}/has-${freed}`;
    allocator.release(key);
    expect(woken().toSorted()).toEqual(expected);
    allocator.allocate(
      addressRequest(`has-${freed}`, { pool: freed, namespace: key.split("/")[0] ?? "", families: [freed === "six" ? 6 : 4] }),
    );
    allocator.release(key);
    expect(woken()).toEqual([]);
  });

  test("older Services first", () => {
    const { allocator, woken } = allocatorWith(pool("a", ["10.0.0.0/32"]));
    allocator.allocate(addressRequest("s"));
    for (const [index, name] of ["t", "u", "v"].entries()) allocator.allocate(addressRequest(name, { second: 9 - index }));
    allocator.release("default/s");
    expect(woken()).toEqual(["default/v", "default/u", "default/t"]);
  });

  test("no Service that is deleted, has an address, or has changed its request", () => {
    const { allocator, woken } = allocatorWith(pool("a", ["10.0.0.0/31"]), pool("b", ["10.0.1.0/32"], { autoAssign: false }));
    for (const name of ["s", "t", "u", "v", "w"]) allocator.allocate(addressRequest(name));
    allocator.release("default/u");
    allocator.allocate(addressRequest("v", { pool: "b" }));
    expect(woken()).toEqual([]);
    allocator.release("default/s");
    expect(woken()).toEqual(["default/w"]);
  });

  test("a RequireDualStack Service only if an address of each family is free", () => {
    const { allocator, woken } = allocatorWith(pool("a", ["10.0.0.0/32", "fc00::/128"]));
    allocator.allocate(addressRequest("four"));
    allocator.allocate(addressRequest("six", { families: [6] }));
    allocator.allocate(addressRequest("both", dual));
    allocator.release("default/four");
    expect(woken()).toEqual([]);
    allocator.release("default/six");
    expect(woken()).toEqual(["default/both"]);
  });

  test("a RequireDualStack Service that can share an address of the other family", () => {
    const { allocator, woken } = allocatorWith(pool("a", ["10.0.0.0/32", "fc00::/128"]));
    allocator.allocate(addressRequest("four"));
    allocator.allocate(addressRequest("six", { families: [6], ...shares(["TCP/80"]) }));
    allocator.allocate(addressRequest("fits", { ...dual, ...shares(["TCP/443"]) }));
    allocator.allocate(addressRequest("clashes", { ...dual, ...shares(["TCP/80"]) }));
    allocator.allocate(addressRequest("differs", { ...dual, ...shares(["TCP/443"], "other") }));
    allocator.release("default/four");
    expect(woken()).toEqual(["default/fits"]);
  });

  test("a PreferDualStack Service whose first address is of that pool", () => {
    const { allocator, woken } = allocatorWith(pool("a", ["10.0.0.0/24", "fc00::/128"]), pool("b", ["10.0.1.0/24", "fc01::/128"]));
    allocator.allocate(addressRequest("six-a", { families: [6], pool: "a" }));
    allocator.allocate(addressRequest("six-b", { families: [6], pool: "b" }));
    allocator.allocate(addressRequest("prefers", preferDual));
    allocator.release("default/six-b");
    expect(woken()).toEqual([]);
    allocator.release("default/six-a");
    expect(woken()).toEqual(["default/prefers"]);
  });
});

describe("a shared address wakes", () => {
  const waiting: [string, RequestTerms][] = [
    ["web", shares(["TCP/80"])],
    ["dns", shares(["UDP/53"])],
    ["both", shares(["TCP/80", "UDP/53"])],
    ["other", shares(["TCP/80"], "other")],
    ["alone", {}],
  ];

  test.each<[string, (allocator: ReturnType<typeof allocatorWith>["allocator"]) => void, string[]]>([
    [
      "the Services that can share it when one of its Services releases it",
      (allocator) => allocator.release("default/has-web"),
      ["default/web"],
    ],
    [
      "the Services that can share it when one of its Services drops a port",
      (allocator) => allocator.claim(addressRequest("has-dns", shares(["TCP/9"])), addresses("10.0.0.0")),
      ["default/dns"],
    ],
    [
      "no Service when one of its Services adds a port",
      (allocator) => allocator.claim(addressRequest("has-dns", shares(["TCP/9", "UDP/53"])), addresses("10.0.0.0")),
      [],
    ],
  ])("%s", (_title, happen, expected) => {
    const { allocator, woken } = allocatorWith(pool("a", ["10.0.0.0/32"]));
    allocator.allocate(addressRequest("has-web", shares(["TCP/80"])));
    allocator.allocate(addressRequest("has-dns", shares(["UDP/53"])));
    for (const [name, terms] of waiting) expect(allocator.allocate(addressRequest(name, terms))).toHaveProperty("noAddress");
    happen(allocator);
    expect(woken().toSorted()).toEqual(expected);
  });

  test("the Services with the new sharing key of its only Service", () => {
    const { allocator, woken } = allocatorWith(pool("a", ["10.0.0.0/32"]));
    allocator.allocate(addressRequest("has", { sharing: { ports: ["TCP/9"] } }));
    for (const [name, terms] of waiting) allocator.allocate(addressRequest(name, terms));
    allocator.claim(addressRequest("has", shares(["TCP/9"])), addresses("10.0.0.0"));
    expect(woken().toSorted()).toEqual(["default/both", "default/dns", "default/web"]);
  });
});

describe("a change of pools wakes", () => {
  const full = pool("a", ["10.0.0.0/32"]);

  test.each<[string, ReturnType<typeof pool>[], string[]]>([
    ["Services that may use a pool that grows", [pool("a", ["10.0.0.0/31"])], ["default/any", "default/prefers", "red/red"]],
    ["Services that may use a new pool", [full, pool("b", ["fc00::/64"])], ["default/prefers", "default/six"]],
    ["Services that request a new pool by name", [full, pool("blue", ["10.0.3.0/24"], { autoAssign: false })], ["default/blue"]],
    [
      "Services that request an address that a pool now contains",
      [full, pool("b", ["10.0.9.9/32"], { autoAssign: false })],
      ["default/exactly"],
    ],
    ["Services that a pool now selects", [full, pool("b", ["10.0.5.0/24"], { namespaces: ["red"] })], ["red/red"]],
    ["no Service if nothing changed", [pool("a", ["10.0.0.0-10.0.0.0"])], []],
    ["no Service if none may use the pool", [full, pool("b", ["10.0.5.0/24"], { namespaces: ["green"] })], []],
  ])("%s", (_title, pools, expected) => {
    const { allocator, woken } = allocatorWith(full);
    allocator.allocate(addressRequest("s"));
    allocator.allocate(addressRequest("any"));
    allocator.allocate(addressRequest("six", { families: [6] }));
    allocator.allocate(addressRequest("prefers", preferDual));
    allocator.allocate(addressRequest("blue", { pool: "blue" }));
    allocator.allocate(addressRequest("exactly", { addresses: addresses("10.0.9.9") }));
    allocator.allocate(addressRequest("red", { namespace: "red" }));
    allocator.setPools(pools, new Set());
    expect(woken().toSorted()).toEqual(expected);
  });
});

describe("a Service that requests another address", () => {
  test.each<[string, RequestTerms, string]>([
    ["by its pool", { pool: "b" }, "no available IPs in pool b for ipv4 IPFamily: pool b: all 1 IPv4 addresses are in use"],
    ["by its address", { addresses: addresses("10.0.1.0") }, `can't change sharing key for "default/s", address also in use by default/t`],
  ])("%s keeps its address until the requested one is free", (_title, terms, message) => {
    const { allocator, woken } = allocatorWith(pool("a", ["10.0.0.0/24"]), pool("b", ["10.0.1.0/32"], { autoAssign: false }));
    allocator.allocate(addressRequest("s"));
    allocator.allocate(addressRequest("t", { pool: "b" }));
    expect(outcomeText(allocator.exchange(addressRequest("s", terms)))).toBe(message);
    expect(outcomeText(allocator.allocationOf("default/s"))).toBe("a: 10.0.0.0");

    allocator.release("default/t");
    expect(woken()).toEqual(["default/s"]);
    expect(outcomeText(allocator.exchange(addressRequest("s", terms)))).toBe("b: 10.0.1.0");
    expect(allocator.usage("a")).toMatchObject({ assignedIPv4: 0n, services: 0 });
  });

  test("stops waiting when it withdraws the request", () => {
    const { allocator, woken } = allocatorWith(pool("a", ["10.0.0.0/24"]), pool("b", ["10.0.1.0/32"], { autoAssign: false }));
    allocator.allocate(addressRequest("s"));
    allocator.allocate(addressRequest("t", { pool: "b" }));
    allocator.exchange(addressRequest("s", { pool: "b" }));
    allocator.claim(addressRequest("s"), addresses("10.0.0.0"));
    allocator.release("default/t");
    expect(woken()).toEqual([]);
  });
});
