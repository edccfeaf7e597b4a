import { expect, test } from "vitest";
import { changedElements, fullTable } from "./nft-rules.ts";

test("the whole table takes the place of what there was", () => {
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

test("one more address is one more element, and one that goes takes only itself", () => {
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
