import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { routers } from "./testing/generators.ts";
import { merge, parse, print } from "./config.ts";
import type { ConfigLine } from "./fragment.ts";

const withoutBangs = (text: string) => text.split("\n").filter((line) => line.trim() !== "!");

describe("the output of bgpd 8.4", () => {
  const printed = `frr version 8.4.4
frr defaults traditional
!
hostname node-a
!
router bgp 64514
 no bgp default ipv4-unicast
 neighbor 192.168.11.2 remote-as 64512
 !
 address-family ipv4 unicast
  network 100.65.0.1/32
 exit-address-family
 !
 address-family l2vpn evpn
  advertise-all-vni
  vni 100
   rd 1:1
  exit-vni
 exit-address-family
!
exit
!
router bgp 64514 vrf red
exit
!
route-map allowall permit 1
exit
!
`;
  const read: ConfigLine[] = [
    { line: "frr version 8.4.4" },
    { line: "frr defaults traditional" },
    { line: "hostname node-a" },
    {
      line: "router bgp 64514",
      inside: [
        { line: "no bgp default ipv4-unicast" },
        { line: "neighbor 192.168.11.2 remote-as 64512" },
        { line: "address-family ipv4 unicast", inside: [{ line: "network 100.65.0.1/32" }] },
        { line: "address-family l2vpn evpn", inside: [{ line: "advertise-all-vni" }, { line: "vni 100", inside: [{ line: "rd 1:1" }] }] },
      ],
    },
    { line: "router bgp 64514 vrf red", inside: [] },
    { line: "route-map allowall permit 1", inside: [] },
  ];

  test("is parsed as contexts and lines, including empty contexts", () => {
    expect(parse(printed)).toEqual(read);
  });

  test("is printed unchanged except for empty lines", () => {
    expect(withoutBangs(print(read))).toEqual(withoutBangs(printed));
  });
});

test("a BFD profile without lines is a context, and its sibling is not inside it", () => {
  expect(parse("bfd\n profile a\n exit\n !\n profile b\n  passive-mode\n exit\n !\nexit\n")).toEqual([
    {
      line: "bfd",
      inside: [
        { line: "profile a", inside: [] },
        { line: "profile b", inside: [{ line: "passive-mode" }] },
      ],
    },
  ]);
});

test("an empty VRF does not include the line after it", () => {
  expect(parse("vrf red\nexit-vrf\n!\nip nht resolve-via-default\n")).toEqual([
    { line: "vrf red", inside: [] },
    { line: "ip nht resolve-via-default" },
  ]);
});

test("contexts without exit end with their indentation", () => {
  expect(parse("router bgp 1\n neighbor a remote-as 2\n!\nroute-map m permit 1\n!\nline vty\n!\nend\n")).toEqual([
    { line: "router bgp 1", inside: [{ line: "neighbor a remote-as 2" }] },
    { line: "route-map m permit 1", inside: [] },
    { line: "line vty", inside: [] },
  ]);
});

test("an unknown context is recognized by its indentation or its exit", () => {
  expect(parse("gadget one\n color red\n  deep 1\nexit\ngadget two\nexit\nplain\n")).toEqual([
    { line: "gadget one", inside: [{ line: "color red", inside: [{ line: "deep 1" }] }] },
    { line: "gadget two", inside: [] },
    { line: "plain" },
  ]);
});

test("text without indentation keeps its contexts", () => {
  const flat = `router bgp 64514
neighbor 192.168.11.9 remote-as 64519
address-family ipv4 unicast
neighbor 192.168.11.9 activate
address-family ipv6 unicast
network 2001:db8::/64
exit-address-family
exit
ip prefix-list p seq 5 permit any
route-map m permit 10
match ip address prefix-list p
router bgp 64514 vrf red
bgp router-id 10.0.0.9
`;
  expect(parse(flat)).toEqual([
    {
      line: "router bgp 64514",
      inside: [
        { line: "neighbor 192.168.11.9 remote-as 64519" },
        { line: "address-family ipv4 unicast", inside: [{ line: "neighbor 192.168.11.9 activate" }] },
        { line: "address-family ipv6 unicast", inside: [{ line: "network 2001:db8::/64" }] },
      ],
    },
    { line: "ip prefix-list p seq 5 permit any" },
    { line: "route-map m permit 10", inside: [{ line: "match ip address prefix-list p" }] },
    { line: "router bgp 64514 vrf red", inside: [{ line: "bgp router-id 10.0.0.9" }] },
  ]);
});

test("comments, carriage returns and text after end are not lines", () => {
  expect(parse("! a note\r\n# another\r\nhostname a\r\nend\r\n")).toEqual([{ line: "hostname a" }]);
});

test("fragments share contexts and lines, and dependencies come before their users", () => {
  const merged = merge([
    {
      owner: "L3VNI/red",
      lines: [
        { line: "vrf red", inside: [{ line: "vni 100" }] },
        { line: "router bgp 1 vrf red", inside: [{ line: "bgp router-id 1.1.1.1" }] },
      ],
    },
    {
      owner: "L2VNI/a",
      lines: [
        {
          line: "router bgp 1 vrf red",
          inside: [{ line: "address-family ipv4 unicast", inside: [{ line: "network 10.0.0.0/24" }] }, { line: "bgp router-id 1.1.1.1" }],
        },
      ],
    },
    {
      owner: "Underlay/u",
      lines: [{ line: "router bgp 1", inside: [] }, { line: "route-map allowall permit 1", inside: [] }, { line: "hostname a" }],
    },
  ]);
  expect(print(merged)).toBe(`hostname a
route-map allowall permit 1
exit
!
vrf red
 vni 100
exit-vrf
!
router bgp 1
exit
!
router bgp 1 vrf red
 bgp router-id 1.1.1.1
 address-family ipv4 unicast
  network 10.0.0.0/24
 exit-address-family
exit
!
`);
});

test("printed text parses to the same configuration, for any router", () => {
  fc.assert(
    fc.property(routers, (fragments) => {
      const whole = merge(fragments);
      expect(parse(print(whole))).toEqual(whole);
      expect(merge([{ owner: "all", lines: whole }])).toEqual(whole);
    }),
    { seed: 3, numRuns: 200 },
  );
});
