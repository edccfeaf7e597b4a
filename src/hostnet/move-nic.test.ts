import { describe, expect, test } from "vitest";
import { plan, planRemoval } from "./plan.ts";
import { routesThrough } from "./routes.ts";
import { link, linkAddress, snapshot, typedCommands } from "./testing/fixtures.ts";
import type { DesiredLink } from "./desired-link.ts";

const want: DesiredLink = { netns: "router", name: "eth1", type: "nic", owner: "Underlay/u" };
const eth1 = link("eth1", "", {
  alias: "uplink to rack 7",
  group: "default",
  addresses: [
    "192.0.2.5/24",
    linkAddress("198.51.100.1/32", { scope: "host" }),
    linkAddress("203.0.113.9/24", { dynamic: true, validSeconds: 600, preferredSeconds: 300 }),
    "2001:db8::5/64",
    "fe80::1/64",
  ],
});
const routes = { eth1: [{ family: 4 as const, args: ["0.0.0.0/0", "via", "192.0.2.1", "dev", "eth1"] }] };

describe("an interface of the node", () => {
  test("moves with its addresses and routes, and keeps its alias within ours", () => {
    expect(typedCommands(plan([want], snapshot({ host: [eth1], routes })))).toEqual([
      "host: ip link set dev eth1 alias plumbline:Underlay/u moved was uplink to rack 7 netns perouter",
      "router: ip link set dev eth1 up",
      "router: ip addr replace 192.0.2.5/24 dev eth1",
      "router: ip addr replace 198.51.100.1/32 dev eth1 scope host",
      "router: ip addr replace 203.0.113.9/24 dev eth1 valid_lft 600 preferred_lft 300",
      "router: ip addr replace 2001:db8::5/64 dev eth1 nodad",
      "router: ip route replace 0.0.0.0/0 via 192.0.2.1 dev eth1",
    ]);
  });

  test("is only set up after it has moved", () => {
    const moved = { ...eth1, alias: "plumbline:Underlay/u moved was uplink to rack 7" };
    expect(typedCommands(plan([want], snapshot({ router: [moved] })))).toEqual([]);
    expect(typedCommands(plan([want], snapshot({ router: [{ ...moved, up: false }] })))).toEqual(["router: ip link set dev eth1 up"]);
  });

  test("changes its owner without moving", () => {
    const moved = { ...eth1, alias: "plumbline:Underlay/old moved was uplink to rack 7" };
    expect(typedCommands(plan([want], snapshot({ router: [moved] })))).toEqual([
      "router: ip link set dev eth1 alias plumbline:Underlay/u moved was uplink to rack 7",
    ]);
  });

  test("that the kernel moved back with the deletion of its namespace stays, and gets its own alias again", () => {
    const back = link("eth1", "", { alias: "plumbline:Underlay/u moved was uplink to rack 7" });
    expect(typedCommands(planRemoval([{ ...want, netns: "host" }], snapshot({ host: [back] })))).toEqual([
      "host: ip link set dev eth1 alias uplink to rack 7",
    ]);
  });

  test("moves back with its current addresses, under its own alias", () => {
    const moved = link("eth1", "", { alias: "plumbline:Underlay/u moved was uplink to rack 7", addresses: ["192.0.2.5/24"] });
    expect(typedCommands(planRemoval([want], snapshot({ router: [moved], routes })))).toEqual([
      "router: ip link set dev eth1 alias uplink to rack 7 netns 4711",
      "host: ip link set dev eth1 up",
      "host: ip addr replace 192.0.2.5/24 dev eth1",
      "host: ip route replace 0.0.0.0/0 via 192.0.2.1 dev eth1",
    ]);
  });

  test("that was already in the router's namespace stays there", () => {
    const have = snapshot({ router: [eth1] });
    expect(typedCommands(plan([want], have))).toEqual([]);
    expect(typedCommands(planRemoval([want], have))).toEqual([]);
  });

  test("must exist", () => {
    expect(plan([want], snapshot({})).rejected).toMatchObject({ code: "Rejected", message: "eth1: Interface eth1 not present on node" });
  });

  test("may be missing if it is optional", () => {
    expect(plan([{ ...want, optional: true }], snapshot({}))).toMatchObject({ commands: [] });
  });

  test("must not be a link of ours", () => {
    expect(plan([want], snapshot({ host: [link("eth1", "bridge")] })).rejected?.text).toContain("this link was created by plumbline");
  });
});

describe("routes through an interface", () => {
  test("include the configured ones, those without a gateway first", () => {
    const printed = [
      {
        type: "unicast",
        dst: "default",
        gateway: "192.0.2.1",
        dev: "eth1",
        protocol: "static",
        scope: "global",
        prefsrc: "192.0.2.5",
        metric: 100,
        flags: [],
        metrics: [{ mtu: 1400 }],
      },
      { type: "unicast", dst: "192.0.2.0/24", dev: "eth1", protocol: "kernel", scope: "link", prefsrc: "192.0.2.5", flags: [] },
      { type: "unicast", dst: "10.7.0.0/16", dev: "eth1", protocol: "boot", scope: "link", flags: [] },
      { type: "unicast", dst: "10.8.0.0/16", gateway: "192.0.2.3", dev: "eth1", protocol: "bgp", flags: [] },
      { type: "unicast", dst: "10.9.0.0/16", gateway: "192.0.2.3", dev: "eth1", protocol: "196", flags: [] },
      { type: "unicast", dst: "10.10.0.0/16", gateway: "192.0.2.3", dev: "eth2", protocol: "static", flags: [] },
      { type: "unicast", dst: "10.11.0.0/16", gateway: "198.51.100.1", dev: "eth1", protocol: "dhcp", flags: ["onlink"] },
      { type: "unicast", dst: "10.12.0.0/16", via: { family: "inet6", host: "fe80::9" }, dev: "eth1", protocol: "boot", flags: [] },
      { type: "unreachable", dst: "10.13.0.0/16", protocol: "boot", flags: [] },
      {
        dst: "10.14.0.0/16",
        protocol: "boot",
        flags: [],
        nexthops: [
          { gateway: "192.0.2.3", dev: "eth1", weight: 2, flags: [] },
          { gateway: "192.0.2.4", dev: "eth1", weight: 1, flags: [] },
        ],
      },
      {
        dst: "10.15.0.0/16",
        protocol: "boot",
        flags: [],
        nexthops: [
          { gateway: "192.0.2.3", dev: "eth1", weight: 1, flags: [] },
          { gateway: "198.51.100.3", dev: "eth2", weight: 1, flags: [] },
        ],
      },
    ];
    expect(routesThrough("eth1", printed, 4).map(({ args }) => args.join(" "))).toEqual([
      "10.7.0.0/16 dev eth1 proto boot scope link",
      "0.0.0.0/0 via 192.0.2.1 dev eth1 proto static src 192.0.2.5 metric 100 mtu 1400",
      "10.11.0.0/16 via 198.51.100.1 dev eth1 onlink proto dhcp",
      "10.12.0.0/16 via inet6 fe80::9 dev eth1 proto boot",
      "10.14.0.0/16 proto boot nexthop via 192.0.2.3 dev eth1 weight 2 nexthop via 192.0.2.4 dev eth1 weight 1",
    ]);
  });

  test("of IPv6 exclude those of router advertisements", () => {
    const printed = [
      { type: "unicast", dst: "default", gateway: "fe80::1", dev: "eth1", protocol: "ra", metric: 1024, flags: [], pref: "medium" },
      {
        type: "unicast",
        dst: "default",
        gateway: "fe80::2",
        dev: "eth1",
        protocol: "static",
        scope: "global",
        metric: 1024,
        flags: [],
        pref: "high",
      },
    ];
    expect(routesThrough("eth1", printed, 6).map(({ args }) => args.join(" "))).toEqual([
      "::/0 via fe80::2 dev eth1 proto static metric 1024 pref high",
    ]);
  });
});
