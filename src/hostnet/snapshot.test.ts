import { expect, test } from "vitest";
import { parseLinks } from "./snapshot.ts";

/** As `ip -d -j` prints them, shortened. */
const common = { flags: ["BROADCAST", "MULTICAST", "UP", "LOWER_UP"], mtu: 1500, group: "default", address: "02:00:00:00:00:01" };
const forever = { valid_life_time: 4294967295, preferred_life_time: 4294967295 };
const only = (printed: object, details: object[] = []) => [...parseLinks([printed], details).values()][0];

test("a physical interface has no type, and its addresses are as written", () => {
  const addr_info = [
    { family: "inet", local: "192.0.2.5", prefixlen: 24, scope: "global", label: "eth1", ...forever },
    { family: "inet", local: "192.0.2.6", prefixlen: 24, scope: "global", secondary: true, ...forever },
    { family: "inet", local: "10.0.0.1", address: "10.0.0.2", prefixlen: 30, scope: "global", ...forever },
    { family: "inet6", local: "fd00::1", address: "fd00::2", prefixlen: 64, scope: "global", ...forever },
    { family: "inet", local: "198.51.100.7", prefixlen: 24, scope: "global", dynamic: true, valid_life_time: 25, preferred_life_time: 0 },
    { family: "inet6", local: "2001:db8::5", prefixlen: 64, scope: "global", dadfailed: true, tentative: true, ...forever },
    {},
  ];
  const plain = { scope: "global", dynamic: false, secondary: false, dadFailed: false };
  expect(only({ ifindex: 2, ifname: "eth1", ...common, addr_info }, [{ ifindex: 2, inet6_addr_gen_mode: "none" }])).toEqual({
    name: "eth1",
    index: 2,
    type: "",
    alias: "",
    group: "default",
    mtu: 1500,
    mac: "02:00:00:00:00:01",
    up: true,
    addrGenMode: "none",
    addresses: [
      { ...plain, text: "192.0.2.5/24" },
      { ...plain, text: "192.0.2.6/24", secondary: true },
      { ...plain, text: "10.0.0.1/32", peer: "10.0.0.2/30" },
      { ...plain, text: "fd00::1/128", peer: "fd00::2/64" },
      { ...plain, text: "198.51.100.7/24", dynamic: true, validSeconds: 25, preferredSeconds: 0 },
      { ...plain, text: "2001:db8::5/64", dadFailed: true },
    ],
  });
});

test("reads VNI, lower device and port settings of a VXLAN", () => {
  const linkinfo = {
    info_kind: "vxlan",
    info_data: { id: 100, local6: "fd00::1", link: "lound", port: 4789, learning: false },
    info_slave_kind: "bridge",
    info_slave_data: { state: "forwarding", learning: false, neigh_suppress: true, cost: 100 },
  };
  expect(only({ ifindex: 7, ifname: "vni100", ...common, ifalias: "plumbline:L2VNI/red", master: "br-pe-100", linkinfo })).toMatchObject({
    type: "vxlan",
    alias: "plumbline:L2VNI/red",
    master: "br-pe-100",
    vxlan: { vni: 100, port: 4789, local: "fd00::1", device: "lound", learning: false },
    bridgePort: { state: "forwarding", flags: { learning: false, neigh_suppress: true } },
  });
});

test("reads the table of a VRF, whose port is not a bridge port", () => {
  expect(only({ ifindex: 3, ifname: "red", ...common, linkinfo: { info_kind: "vrf", info_data: { table: 12 } } })).toMatchObject({
    type: "vrf",
    table: 12,
  });
  const port = only({
    ifindex: 4,
    ifname: "pe-1",
    ...common,
    master: "red",
    linkinfo: { info_slave_kind: "vrf", info_slave_data: { table: 12 } },
  });
  expect(port).toMatchObject({ master: "red" });
  expect(port).not.toHaveProperty("bridgePort");
});

test("the peer of a veth has a name in the same namespace, and an index in another", () => {
  const veth = { ifindex: 5, ifname: "v0", ...common, flags: ["BROADCAST"], linkinfo: { info_kind: "veth" } };
  expect(only({ ...veth, link: "v1" })).toMatchObject({ peer: { name: "v1" }, up: false });
  expect(only({ ...veth, link_index: 9, link_netnsid: 0 })).toMatchObject({ peer: { index: 9 } });
});

test("empty output yields no links", () => {
  expect(parseLinks([{}]).size).toBe(0);
  expect(parseLinks([]).size).toBe(0);
});
