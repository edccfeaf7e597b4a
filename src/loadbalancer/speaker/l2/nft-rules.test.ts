import { expect, test } from "vitest";
import { changedElements, fullTable } from "./nft-rules.ts";

test("the complete table replaces the old one", () => {
  expect(
    fullTable(
      "arp",
      new Map([
        ["addresses", new Set(["192.0.2.100"])],
        ["selected", new Set(['"eth1" . 192.0.2.100'])],
      ]),
    ),
  ).toBe(`table arp plumbline
delete table arp plumbline
table arp plumbline {
  set addresses { type ipv4_addr; elements = { 192.0.2.100 } }
  set selected { type ifname . ipv4_addr; elements = { "eth1" . 192.0.2.100 } }

  chain input {
    type filter hook input priority filter; policy accept;
    arp daddr ip @addresses iifname . arp daddr ip != @selected drop
  }
}
`);
});

test("an added or removed address changes one element", () => {
  const have = new Map([["ipv4", new Set(["192.0.2.100", "192.0.2.101"])]]);
  const want = new Map([
    ["ipv4", new Set(["192.0.2.101", "192.0.2.102"])],
    ["ipv6", new Set(["2001:db8::1"])],
  ]);
  expect(changedElements("inet", have, want)).toBe(
    "delete element inet plumbline ipv4 { 192.0.2.100 }\nadd element inet plumbline ipv4 { 192.0.2.102 }\nadd element inet plumbline ipv6 { 2001:db8::1 }\n",
  );
  expect(changedElements("inet", want, want)).toBe("");
});
