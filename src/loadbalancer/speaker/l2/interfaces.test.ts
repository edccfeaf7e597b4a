import { expect, test } from "vitest";
import { parseAddress } from "../../../ip/address.ts";
import { usableInterfaces, noUsableInterface, observed, UsedInterfaces } from "./interfaces.ts";

const flags = ["BROADCAST", "MULTICAST", "UP", "LOWER_UP"];
const linkLocal = {
  family: "inet6",
  local: "fe80::1",
  prefixlen: 64,
  scope: "link",
  valid_life_time: 4_294_967_295,
  preferred_life_time: 4_294_967_295,
};
const link = (ifname: string, more: object = {}) => ({
  ifindex: 2,
  ifname,
  flags,
  link_type: "ether",
  address: "02:00:00:00:00:01",
  addr_info: [linkLocal],
  ...more,
});
const names = (links: object[], family: 4 | 6, named?: string[]) =>
  usableInterfaces(observed(links), family, named).map(({ name }) => name);
const ours = {
  family: "inet",
  local: "192.0.2.100",
  prefixlen: 32,
  metric: 26_740,
  scope: "host",
  dynamic: true,
  valid_life_time: 20,
  preferred_life_time: 0,
};

test("an interface is usable if it is up, has a carrier, no master, and ARP", () => {
  const links = [
    link("eth0"),
    link("down", { flags: ["BROADCAST", "MULTICAST"] }),
    link("unplugged", { flags: ["BROADCAST", "NO-CARRIER", "UP"] }),
    link("port", { master: "br0" }),
    link("noarp", { flags: [...flags, "NOARP"] }),
    link("ppp0", { link_type: "ppp" }),
    {},
  ];
  expect(names(links, 4)).toEqual(["eth0"]);
});

test("container links, tunnels and loopback are usable only if they are named", () => {
  const never = [
    "docker0",
    "cbr0",
    "dummy0",
    "virbr0",
    "lxcbr0",
    "veth12",
    "cali3",
    "tunl0",
    "flannel.1",
    "kube-ipvs0",
    "cni0",
    "nodelocaldns",
    "lxc4",
    "lo",
    "plumbline-vip",
  ];
  const links = [...never, "eth0", "lower0"].map((name) => link(name));
  expect(names(links, 4)).toEqual(["eth0", "lower0"]);
  expect(names(links, 4, ["veth12", "eth9", "plumbline-vip"])).toEqual(["veth12"]);
});

test("for IPv6 an interface needs its own link-local address", () => {
  expect(
    names([link("eth0"), link("bare", { addr_info: [] }), link("new", { addr_info: [{ ...linkLocal, tentative: true }] })], 6),
  ).toEqual(["eth0"]);
});

test("addresses of an earlier agent are recognized by their attributes, and foreign ones are not", () => {
  const links = observed([
    link("plumbline-vip", { addr_info: [{ ...ours, local: "192.0.2.104" }] }),
    link("eth0", { addr_info: [ours, { ...ours, local: "192.0.2.101", metric: 5 }, { ...ours, local: "192.0.2.102", dynamic: false }] }),
    link("kube-ipvs0", { addr_info: [{ ...ours, local: "192.0.2.103", metric: undefined }] }),
  ]);
  expect(links.ours).toEqual([
    { address: "192.0.2.104", nic: { name: "plumbline-vip", index: 2, mac: "02:00:00:00:00:01" }, validSeconds: 20 },
    { address: "192.0.2.100", nic: { name: "eth0", index: 2, mac: "02:00:00:00:00:01" }, validSeconds: 20 },
  ]);
  expect([...links.onNics]).toEqual(["192.0.2.100 eth0"]);
  expect([...links.foreign]).toEqual([
    ["192.0.2.101", ["eth0"]],
    ["192.0.2.102", ["eth0"]],
  ]);
  expect([...links.ipvs]).toEqual(["192.0.2.103"]);
});

test("an interface without a carrier is lost if it was used before or is named, and not if it is down or was never usable", () => {
  const used = new UsedInterfaces();
  const dark = { flags: ["UP", "NO-CARRIER"] };
  const address = parseAddress("192.0.2.100");
  used.add(
    [{ address }, { address, interfaces: ["eth2"] }],
    observed([link("eth0"), link("eth1", dark), link("eth2", dark), link("eth3")]),
  );
  const lost = (...links: object[]) => used.lost(observed(links));
  expect(lost(link("eth0"), link("eth1", dark), link("eth2", dark), link("eth3", { flags: [] }))).toEqual(["eth2"]);
  expect(lost(link("eth0", dark), link("eth1", dark), link("eth2"))).toEqual(["eth0"]);
});

test("the reason without a usable interface names the selected ones", () => {
  expect(noUsableInterface(undefined)).toBe("no usable interface: it must be up, support ARP and have no master");
  expect(noUsableInterface(["eth7", "eth8"])).toBe("no usable interface among eth7, eth8: it must exist, be up and have no master");
});
