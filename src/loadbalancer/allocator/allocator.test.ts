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

const v6 = { families: [6] } as const;
const key = (sharing: string, ports = ["TCP/80"], backend = "") => ({ sharing: { key: sharing, backend, ports } });

describe("addresses of a pool", () => {
  test("are allocated lowest first, in the order of its ranges", () => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.8/31", "10.0.0.0-10.0.0.1", "fc00::4/127"]));
    const given = ["s", "t", "u", "v", "w"].map((name) => outcomeText(allocator.allocate(addressRequest(name))));
    expect(given).toEqual([
      "a: 10.0.0.8",
      "a: 10.0.0.9",
      "a: 10.0.0.0",
      "a: 10.0.0.1",
      "no available IPs: pool a: all 4 IPv4 addresses are in use",
    ]);
    expect(outcomeText(allocator.allocate(addressRequest("x", v6)))).toBe("a: fc00::4");
  });

  test("are allocated again after a release, lowest first", () => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.0/24"]));
    for (let index = 0; index < 9; index++) allocator.allocate(addressRequest(`s${index}`));
    for (const index of [7, 2, 5]) allocator.release(`default/s${index}`);
    expect(["t", "u", "v", "w"].map((name) => outcomeText(allocator.allocate(addressRequest(name))))).toEqual([
      "a: 10.0.0.2",
      "a: 10.0.0.5",
      "a: 10.0.0.7",
      "a: 10.0.0.9",
    ]);
  });

  test("are allocated once if the same Service asks twice", () => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.0/24"]));
    expect(outcomeText(allocator.allocate(addressRequest("s")))).toBe("a: 10.0.0.0");
    expect(outcomeText(allocator.allocate(addressRequest("s")))).toBe("a: 10.0.0.0");
    expect(allocator.usage("a")?.services).toBe(1);
  });

  test("include both ends of 0.0.0.0/0 and ::/0", () => {
    const { allocator } = allocatorWith(pool("all4", ["0.0.0.0/0"]), pool("all6", ["::/0"]));
    expect(outcomeText(allocator.allocate(addressRequest("s", { addresses: addresses("255.255.255.255") })))).toBe("all4: 255.255.255.255");
    const highest = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";
    const shared = { ...v6, ...key("k", ["TCP/1"]) };
    expect(outcomeText(allocator.allocate(addressRequest("t", { ...shared, addresses: addresses(highest) })))).toBe(`all6: ${highest}`);
    expect(outcomeText(allocator.allocate(addressRequest("u", v6)))).toBe("all6: ::");
    expect(outcomeText(allocator.allocate(addressRequest("v", { ...v6, ...key("k", ["TCP/2"]) })))).toBe("all6: ::1");
    allocator.release("default/t");
    expect(allocator.usage("all6")).toMatchObject({ assignedIPv6: 2n, availableIPv6: (1n << 128n) - 2n });
  });

  test("of overlapping ranges are allocated to one Service only", () => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.0/30", "10.0.0.2-10.0.0.4"]), pool("b", ["10.0.0.3-10.0.0.5"]));
    const given = Array.from({ length: 7 }, (_, index) => outcomeText(allocator.allocate(addressRequest(`s${index}`))));
    expect(given.slice(0, 6)).toEqual([0, 1, 2, 3, 4].map((last) => `a: 10.0.0.${last}`).concat("b: 10.0.0.5"));
    expect(given[6]).toMatch(/^no available IPs: pool a: all 5 .*; pool b: all 1 /);
  });

  test.each([
    [["10.0.0.0/32"], 0n],
    [["10.0.0.255/32"], 0n],
    [["10.0.0.7/32"], 1n],
    [["10.0.0.0/24"], 254n],
    [["10.0.0.0/16"], 256n * 254n],
    [["10.0.0.128/25"], 127n],
    [["10.0.0.250-10.0.1.5"], 10n],
    [["10.0.0.255-10.0.1.0"], 0n],
    [["10.0.0.0/32", "10.0.1.0/32", "10.0.2.1/32"], 1n],
    [["0.0.0.0/0"], (1n << 24n) * 254n],
  ])("%j with avoidBuggyIPs are %d", (ranges, count) => {
    const { allocator } = allocatorWith(pool("a", ranges, { avoidBuggyIPs: true }));
    expect(allocator.usage("a")?.availableIPv4).toBe(count);
  });

  test("exclude buggy IPs of IPv4 only", () => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.254-10.0.1.2", "fc00::ff-fc00::100"], { avoidBuggyIPs: true }));
    const given = ["s", "t", "u", "v"].map((name) => outcomeText(allocator.allocate(addressRequest(name))));
    expect(given.slice(0, 3)).toEqual(["a: 10.0.0.254", "a: 10.0.1.1", "a: 10.0.1.2"]);
    expect(given[3]).toBe("no available IPs: pool a: all 3 IPv4 addresses are in use");
    expect(outcomeText(allocator.allocate(addressRequest("w", v6)))).toBe("a: fc00::ff");
  });
});

describe("pools are tried", () => {
  test.each<[string, RequestTerms, string]>([
    ["by priority if they have a serviceAllocation", { namespace: "red" }, "z-first: 10.0.1.0"],
    ["by name if the priority is the same", { namespace: "blue" }, "b-blue: 10.0.3.0"],
    ["by name if they have no serviceAllocation", { namespace: "green" }, "a-any: 10.0.5.0"],
    ["only if both the namespace and a selector match", { namespace: "gray", labels: { tier: "web" } }, "d-gray-web: 10.0.7.0"],
    ["not if the namespace matches and no selector does", { namespace: "gray", labels: { tier: "db" } }, "a-any: 10.0.5.0"],
    ["if one of several selectors matches", { labels: { app: "x" } }, "e-x-or-y: 10.0.8.0"],
  ])("%s", (_title, terms, expected) => {
    const { allocator } = allocatorWith(
      pool("b-any", ["10.0.6.0/24"]),
      pool("a-any", ["10.0.5.0/24"]),
      pool("red-later", ["10.0.2.0/24"], { namespaces: ["red"], priority: 20 }),
      pool("z-first", ["10.0.1.0/24"], { namespaces: ["red", "pink"], priority: 10 }),
      pool("c-blue", ["10.0.4.0/24"], { namespaces: ["blue"] }),
      pool("b-blue", ["10.0.3.0/24"], { namespaces: ["blue"] }),
      pool("d-gray-web", ["10.0.7.0/24"], { namespaces: ["gray"], serviceSelectors: [{ matchLabels: { tier: "web" } }] }),
      pool("e-x-or-y", ["10.0.8.0/24"], { serviceSelectors: [{ matchLabels: { app: "y" } }, { matchLabels: { app: "x" } }] }),
    );
    expect(outcomeText(allocator.allocate(addressRequest("s", terms)))).toBe(expected);
  });

  test("in order until one is not full, pools with a serviceAllocation before generic ones", () => {
    const { allocator } = allocatorWith(
      pool("any", ["10.0.0.0/32"]),
      pool("second", ["10.0.0.1/32"], { priority: 2 }),
      pool("last", ["10.0.0.2/32"], { namespaces: ["default"] }),
      pool("first", ["10.0.0.3/32"], { priority: 1, namespaces: ["default"] }),
    );
    const given = ["s", "t", "u", "v", "w"].map((name) => allocator.allocate(addressRequest(name)));
    expect(given.slice(0, 4).map(outcomeText)).toEqual(["first: 10.0.0.3", "second: 10.0.0.1", "last: 10.0.0.2", "any: 10.0.0.0"]);
    const why = "all 1 IPv4 addresses are in use";
    expect(given[4]).toHaveProperty(
      "tried",
      ["first", "second", "last", "any"].map((name) => ({ pool: name, why })),
    );
  });

  test("and the error names the reason of each", () => {
    const { allocator } = allocatorWith();
    const pools = [
      pool("asked", ["10.0.0.0/24"], { autoAssign: false }),
      pool("red", ["10.0.1.0/24"], { namespaces: ["red"] }),
      pool("web", ["10.0.2.0/24"], { serviceSelectors: [{ matchLabels: { tier: "web" } }] }),
      pool("six", ["fc00::/64"]),
      pool("tiny", ["10.0.3.0/32"]),
    ];
    allocator.setPools(pools, new Set(["wrong"]));
    allocator.allocate(addressRequest("s"));
    expect(allocator.allocate(addressRequest("t"))).toEqual({
      noAddress:
        "no available IPs: pool six: it has no IPv4 addresses; pool tiny: all 1 IPv4 addresses are in use; " +
        "pool red: it is not for namespace default; pool web: its serviceSelectors do not select the Service; " +
        "pool asked: it is assigned only on request (autoAssign: false); pool wrong: its configuration is invalid",
      tried: [
        { pool: "six", why: "it has no IPv4 addresses" },
        { pool: "tiny", why: "all 1 IPv4 addresses are in use" },
        { pool: "red", why: "it is not for namespace default" },
        { pool: "web", why: "its serviceSelectors do not select the Service" },
        { pool: "asked", why: "it is assigned only on request (autoAssign: false)" },
        { pool: "wrong", why: "its configuration is invalid" },
      ],
    });
  });

  test("and the error stays short with thousands of them", () => {
    const { allocator } = allocatorWith(
      ...Array.from({ length: 10_000 }, (_, index) => pool(`p${index}`, [`fc00::${index.toString(16)}/128`])),
    );
    const outcome = allocator.allocate(addressRequest("s"));
    expect(outcomeText(outcome)).toMatch(/^no available IPs: pool p0: it has no IPv4 addresses; .*; and 9992 more$/);
    expect(outcomeText(outcome).length).toBeLessThan(1024);
    expect("tried" in outcome && outcome.tried.length).toBe(100);
  });

  test("unless none is configured, which the error says", () => {
    expect(outcomeText(allocatorWith().allocator.allocate(addressRequest("s")))).toBe("no available IPs: no pools are configured");
  });
});

describe("a Service that requests a pool by name", () => {
  const pools = [
    pool("asked", ["10.0.0.0/32"], { autoAssign: false }),
    pool("red", ["10.0.1.0/24"], { namespaces: ["red"] }),
    pool("six", ["fc00::/64"]),
  ];

  test.each<[string, RequestTerms, string]>([
    ["gets an address of it although autoAssign is off", { pool: "asked" }, "asked: 10.0.0.0"],
    [
      "is rejected if the pool does not select it",
      { pool: "red" },
      "pool red not compatible for ip assignment: pool red: it is not for namespace default",
    ],
    ["is rejected if the pool does not exist", { pool: "blue" }, 'unknown pool "blue"'],
    [
      "is rejected if the pool lacks its family",
      { pool: "six" },
      "no available IPs in pool six for ipv4 IPFamily: pool six: it has no IPv4 addresses",
    ],
    [
      "is rejected if the pool lacks one of its families",
      { pool: "six", ...dual },
      "no available IPs in pool six for dual IPFamily: pool six: it has no IPv4 addresses",
    ],
  ])("%s", (_title, terms, expected) => {
    expect(outcomeText(allocatorWith(...pools).allocator.allocate(addressRequest("s", terms)))).toBe(expected);
  });

  test("is rejected if the pool is full", () => {
    const { allocator } = allocatorWith(...pools);
    allocator.allocate(addressRequest("s", { pool: "asked" }));
    expect(outcomeText(allocator.allocate(addressRequest("t", { pool: "asked" })))).toBe(
      "no available IPs in pool asked for ipv4 IPFamily: pool asked: all 1 IPv4 addresses are in use",
    );
  });

  test("releases its address of another pool", () => {
    const { allocator } = allocatorWith(...pools, pool("any", ["10.0.2.0/24"]));
    expect(outcomeText(allocator.allocate(addressRequest("s")))).toBe("any: 10.0.2.0");
    expect(outcomeText(allocator.allocate(addressRequest("s", { pool: "asked" })))).toBe("asked: 10.0.0.0");
    expect(allocator.usage("any")?.assignedIPv4).toBe(0n);
  });
});

describe("a Service that requests addresses", () => {
  const pools = [
    pool("both", ["10.0.0.0/24", "fc00::/64"], { avoidBuggyIPs: true, autoAssign: false }),
    pool("red", ["10.0.1.0/24"], { namespaces: ["red"] }),
    pool("six", ["fc01::/64"]),
  ];

  test.each<[string, string[], RequestTerms, string]>([
    ["gets them although autoAssign of the pool is off", ["10.0.0.9"], {}, "both: 10.0.0.9"],
    ["gets them in the requested order", ["fc00::9", "10.0.0.9"], dual, "both: fc00::9 10.0.0.9"],
    ["is rejected if no pool contains them", ["192.0.2.1"], {}, '["192.0.2.1"] is not allowed in config: no pool contains it'],
    [
      "is rejected if they are in two pools",
      ["10.0.0.9", "fc01::1"],
      dual,
      '["10.0.0.9" "fc01::1"] is not allowed in config: no pool contains all of them',
    ],
    [
      "is rejected if avoidBuggyIPs excludes one",
      ["10.0.0.255"],
      {},
      '["10.0.0.255"] is not allowed in config: pool both: it avoids addresses ending in .0 and .255',
    ],
    [
      "is rejected if the pool does not select it",
      ["10.0.1.1"],
      {},
      "pool red not compatible for ip assignment: pool red: it is not for namespace default",
    ],
    [
      "is rejected if it requests another pool by name",
      ["10.0.0.9"],
      { pool: "six" },
      'requested loadBalancer IP(s) ["10.0.0.9"] is not compatible with requested address pool six: pool both: it contains ["10.0.0.9"]',
    ],
  ])("%s", (_title, requested, terms, expected) => {
    expect(
      outcomeText(allocatorWith(...pools).allocator.allocate(addressRequest("s", { ...terms, addresses: addresses(...requested) }))),
    ).toBe(expected);
  });

  test("is rejected if another Service has one of them", () => {
    const { allocator } = allocatorWith(...pools);
    allocator.allocate(addressRequest("s", { addresses: addresses("10.0.0.9") }));
    const outcome = allocator.allocate(addressRequest("t", { addresses: addresses("10.0.0.9") }));
    expect(outcome).toEqual({
      noAddress: `can't change sharing key for "default/t", address also in use by default/s`,
      tried: [{ pool: "both", why: `can't change sharing key for "default/t", address also in use by default/s` }],
    });
  });
});

describe("dual stack", () => {
  const pools = [
    pool("a-four", ["10.0.0.0/24"]),
    pool("b-six", ["fc00::/64"]),
    pool("c-both", ["fc01::/128", "10.0.1.0/31"]),
    pool("d-both", ["10.0.2.0/32", "fc02::/64"]),
  ];

  test("takes both addresses from one pool, IPv4 first", () => {
    const { allocator } = allocatorWith(...pools);
    const given = ["s", "t", "u"].map((name) => outcomeText(allocator.allocate(addressRequest(name, { ...dual, families: [6, 4] }))));
    expect(given.slice(0, 2)).toEqual(["c-both: 10.0.1.0 fc01::", "d-both: 10.0.2.0 fc02::"]);
    expect(given[2]).toBe(
      "no available IPs: pool a-four: it has no IPv6 addresses; pool b-six: it has no IPv4 addresses; " +
        "pool c-both: all 1 IPv6 addresses are in use; pool d-both: all 1 IPv4 addresses are in use",
    );
  });

  test.each<[string, RequestTerms, string]>([
    ["IPv4 as the primary family", preferDual, "a-four: 10.0.0.0"],
    ["IPv6 as the primary family", { ...preferDual, families: [6, 4] }, "b-six: fc00::"],
  ])("that is preferred takes one address if no pool has both: %s", (_title, terms, expected) => {
    const { allocator } = allocatorWith(...pools.slice(0, 2));
    expect(outcomeText(allocator.allocate(addressRequest("s", terms)))).toBe(expected);
  });

  test("that is preferred takes the secondary family if no pool has the primary", () => {
    const { allocator } = allocatorWith(pool("b-six", ["fc00::/64"]));
    expect(outcomeText(allocator.allocate(addressRequest("s", preferDual)))).toBe("b-six: fc00::");
  });

  test("that is preferred by a Service with one family takes one address", () => {
    const { allocator } = allocatorWith(...pools);
    expect(outcomeText(allocator.allocate(addressRequest("s", { policy: "PreferDualStack", families: [6] })))).toBe("b-six: fc00::");
  });

  test("adds the second address when the pool gains the other family, and keeps the first", () => {
    const { allocator, woken } = allocatorWith(pool("a", ["10.0.0.0/24"]), pool("six", ["fc01::/64"]));
    const prefers = addressRequest("s", preferDual);
    expect(outcomeText(allocator.allocate(prefers))).toBe("a: 10.0.0.0");
    expect(outcomeText(allocator.extend(prefers))).toBe("no available IPs in pool a for ipv6 IPFamily: pool a: it has no IPv6 addresses");
    expect(outcomeText(allocator.allocationOf("default/s"))).toBe("a: 10.0.0.0");
    expect(woken()).toEqual([]);

    const change = allocator.setPools([pool("a", ["10.0.0.0/24", "fc00::/64"]), pool("six", ["fc01::/64"])], new Set());
    expect(change).toMatchObject({ lost: [], moved: [] });
    expect(woken()).toEqual(["default/s"]);
    expect(outcomeText(allocator.extend(prefers))).toBe("a: 10.0.0.0 fc00::");
    expect(outcomeText(allocator.extend(prefers))).toBe("a: 10.0.0.0 fc00::");
  });

  test("keeps one address when the pool loses a family, and can be exchanged for two of another pool", () => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.0/24", "fc00::/64"]));
    allocator.allocate(addressRequest("s", dual));
    const fewer = [pool("a", ["10.0.0.0/24"]), pool("b", ["10.0.9.0/24", "fc09::/64"])];
    expect(allocator.setPools(fewer, new Set())).toMatchObject({ lost: ["default/s"], moved: [] });
    expect(allocator.allocationOf("default/s")).toEqual({
      pool: "a",
      addresses: addresses("10.0.0.0"),
      before: addresses("10.0.0.0", "fc00::"),
    });
    expect(outcomeText(allocator.exchange(addressRequest("s", dual)))).toBe("b: 10.0.9.0 fc09::");
  });
});

describe("a shared address", () => {
  const web = key("k", ["TCP/80"]);
  const dns = key("k", ["UDP/53"]);

  test("is preferred to a higher free address", () => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.0/24"]));
    expect(outcomeText(allocator.allocate(addressRequest("s", web)))).toBe("a: 10.0.0.0");
    expect(outcomeText(allocator.allocate(addressRequest("t", dns)))).toBe("a: 10.0.0.0");
    expect(allocator.usage("a")).toMatchObject({ assignedIPv4: 1n, availableIPv4: 255n, services: 2 });
    allocator.release("default/s");
    expect(allocator.usage("a")).toMatchObject({ assignedIPv4: 1n, services: 1 });
  });

  test("is not used if a lower address is free", () => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.0/24"]));
    allocator.allocate(addressRequest("r"));
    allocator.allocate(addressRequest("s", web));
    allocator.release("default/r");
    expect(outcomeText(allocator.allocate(addressRequest("t", dns)))).toBe("a: 10.0.0.0");
  });

  test.each<[string, RequestTerms]>([
    ["the same port", web],
    ["one port of several in common", key("k", ["TCP/443", "TCP/80"])],
    ["another key", key("other", ["UDP/53"])],
    ["no key", { sharing: { ports: ["UDP/53"] } }],
    ["another backend, with externalTrafficPolicy Local", key("k", ["UDP/53"], "app=x")],
  ])("is not shared with a Service with %s", (_title, terms) => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.0/24"]));
    allocator.allocate(addressRequest("s", web));
    expect(outcomeText(allocator.allocate(addressRequest("t", terms)))).toBe("a: 10.0.0.1");
  });

  test("is shared across namespaces, and with externalTrafficPolicy Local only for the same backend", () => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.0/24"]));
    allocator.allocate(addressRequest("s", key("k", ["TCP/80"], "app=x")));
    expect(outcomeText(allocator.allocate(addressRequest("t", { namespace: "other", ...key("k", ["UDP/53"], "app=x") })))).toBe(
      "a: 10.0.0.0",
    );
  });

  test("is found among many where all lower ones have one of the ports in use", () => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.0/16"]));
    for (let index = 0; index < 300; index++) allocator.allocate(addressRequest(`s${index}`, web));
    for (let index = 0; index < 299; index++) allocator.allocate(addressRequest(`t${index}`, key("k", [index % 2 ? "UDP/53" : "UDP/54"])));
    expect(outcomeText(allocator.allocationOf("default/t298"))).toBe("a: 10.0.0.149");
    expect(outcomeText(allocator.allocate(addressRequest("u", key("k", ["UDP/53", "UDP/54"]))))).toBe("a: 10.0.0.150");
  });

  test("names the port in use, and the Services that have it under another key", () => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.0/24"]));
    const explicit = { addresses: addresses("10.0.0.7") };
    allocator.allocate(addressRequest("s", { ...web, ...explicit }));
    allocator.allocate(addressRequest("t", { ...dns, ...explicit }));
    expect(outcomeText(allocator.allocate(addressRequest("u", { ...web, ...explicit })))).toBe(
      'port TCP/80 is already in use on "10.0.0.7"',
    );
    expect(outcomeText(allocator.allocate(addressRequest("u", { ...key("other"), ...explicit })))).toBe(
      `can't change sharing key for "default/u", address also in use by default/s,default/t`,
    );
  });

  test("is kept by its only Service when that changes its key, and lost by one of several", () => {
    const { allocator } = allocatorWith(pool("a", ["10.0.0.0/24"]));
    allocator.allocate(addressRequest("s", web));
    expect(outcomeText(allocator.claim(addressRequest("s", key("other")), addresses("10.0.0.0")))).toBe("a: 10.0.0.0");
    expect(outcomeText(allocator.allocate(addressRequest("t", key("other", ["UDP/53"]))))).toBe("a: 10.0.0.0");
    expect(outcomeText(allocator.claim(addressRequest("s", web), addresses("10.0.0.0")))).toBe(
      `can't change sharing key for "default/s", address also in use by default/t`,
    );
    expect(allocator.allocationOf("default/s")).toBeUndefined();
  });
});
