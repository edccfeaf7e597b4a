import { expect, test } from "vitest";
import { parseAddress } from "../../../ip/address.ts";
import { observed } from "./interfaces.ts";
import { selectInterfaces, withoutInterface } from "./select-interfaces.ts";

const link = (index: number, flags: string[], addresses: object[] = []) => ({
  ifindex: index,
  ifname: `eth${index}`,
  flags,
  link_type: "ether",
  address: `02:00:00:00:00:0${index}`,
  addr_info: addresses,
});
const strange = { family: "inet", local: "192.0.2.9", prefixlen: 32, scope: "global", valid_life_time: 1, preferred_life_time: 1 };
/** `eth0` is up and has no IPv6, `eth1` has no carrier; on `lo` is what is meant for services. */
const links = observed([
  link(0, ["UP", "LOWER_UP"], [strange]),
  link(1, ["UP", "NO-CARRIER"], [{ ...strange, local: "192.0.2.8" }]),
  { ...link(2, ["UP", "LOWER_UP", "LOOPBACK"], [strange, { ...strange, local: "192.0.2.7" }]), ifname: "lo", link_type: "loopback" },
]);
const wanted = (address: string, interfaces?: string[], service = "shop/web") => ({
  address: parseAddress(address),
  service,
  candidates: ["a"],
  interfaces,
});

test.each<[what: string, address: string, interfaces: string[] | undefined, expected: object]>([
  ["if all interfaces are selected", "192.0.2.1", undefined, { nics: [{ name: "eth0" }] }],
  [
    "if its interface is down",
    "192.0.2.1",
    ["eth1"],
    { obstacle: "no usable interface among eth1: it must exist, be up and have no master" },
  ],
  [
    "if the node has it on an interface that is not selected",
    "192.0.2.8",
    ["eth0"],
    { obstacle: "192.0.2.8 is on eth1; Plumbline did not put it there" },
  ],
  ["if an interface for services has it", "192.0.2.7", undefined, { nics: [{ name: "eth0" }] }],
  ["if it is an address of the Node", "192.0.2.5", undefined, { obstacle: "192.0.2.5 is the node's own address" }],
  ["if a foreign program added it", "192.0.2.9", undefined, { obstacle: "192.0.2.9 is on eth0; Plumbline did not put it there" }],
])("the interfaces of an address are known %s", (_, address, interfaces, expected) => {
  expect(selectInterfaces(wanted(address, interfaces), links, ["192.0.2.5"])).toMatchObject(expected);
});

test("a Service with one address without an interface is left to others as a whole", () => {
  const all = [
    wanted("192.0.2.1"),
    wanted("2001:db8::1"),
    wanted("192.0.2.2", undefined, "shop/api"),
    wanted("192.0.2.3", ["eth1"], "shop/db"),
  ];
  expect([...withoutInterface(all, links)]).toEqual(["192.0.2.1", "2001:db8::1", "192.0.2.3"]);
});

test("a foreign address on an interface is not left to others: it would answer anyway", () => {
  expect([...withoutInterface([wanted("192.0.2.9")], links)]).toEqual([]);
});
