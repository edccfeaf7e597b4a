import { describe, expect, test } from "vitest";
import { daemonsOf, ownersOf } from "./daemons.ts";

const BEFORE = { major: 8 };
const SINCE = { major: 10 };

test("mgmtd exists since FRR 10, and starts first", () => {
  expect(daemonsOf(BEFORE)).toEqual(["zebra", "bgpd", "bfdd", "staticd"]);
  expect(daemonsOf(SINCE)).toEqual(["mgmtd", "zebra", "bgpd", "bfdd", "staticd"]);
});

describe("a line is sent to its daemon", () => {
  test.each([
    ["router bgp 64512 vrf red", ["bgpd"], ["bgpd"]],
    ["no router bgp 64512", ["bgpd"], ["bgpd"]],
    ["route-map out permit 10", ["bgpd"], ["bgpd"]],
    ["ip prefix-list p seq 5 permit any", ["bgpd"], ["bgpd"]],
    ["bgp community-list standard c seq 5 permit 1:1", ["bgpd"], ["bgpd"]],
    ["bfd", ["bfdd"], ["bfdd"]],
    ["vrf red", ["zebra"], ["mgmtd"]],
    ["interface eth0", ["zebra"], ["mgmtd"]],
    ["ip nht resolve-via-default", ["zebra"], ["mgmtd"]],
    ["ip route 192.0.2.0/24 blackhole", ["staticd"], ["mgmtd"]],
    ["ip forwarding", ["zebra"], ["zebra"]],
    ["debug zebra nht", ["zebra"], ["zebra"]],
    ["nonsense", ["zebra"], ["zebra"]],
  ])("%s", (line, before, since) => {
    expect(ownersOf(BEFORE)(line)).toEqual(before);
    expect(ownersOf(SINCE)(line)).toEqual(since);
  });
});

test("a line that every daemon has is sent to all", () => {
  expect(ownersOf(BEFORE)("log syslog")).toEqual(daemonsOf(BEFORE));
  expect(ownersOf(SINCE)("hostname leaf")).toEqual(daemonsOf(SINCE));
});
