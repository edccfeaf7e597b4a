import { expect, test } from "vitest";
import { DEFAULT_TOPOLOGY, hostNames, MACHINE, MAX_NODES, nodeNames, topologyOf } from "./topology.ts";

const every = nodeNames(MAX_NODES).flatMap((_, nth) => ([1, 2] as const).map((tors) => ({ nodes: nth + 1, tors })));

test("the default has one ToR, three nodes and two clients", () => {
  expect(hostNames(DEFAULT_TOPOLOGY)).toEqual(["tor", "node1", "node2", "node3", "client", "client2"]);
  expect(DEFAULT_TOPOLOGY.links.find(({ name }) => name === "node2-tor")).toEqual({
    name: "node2-tor",
    ends: [
      { host: "node2", device: "eth1", address: "192.168.11.12/24" },
      { host: "tor", device: "node2", bridge: "leaf" },
    ],
  });
});

test("with two ToRs every node and the client have a NIC to each, in different subnets", () => {
  const { tors, nodes, links } = topologyOf({ nodes: 2, tors: 2 });
  expect(tors.map(({ name, asn, address }) => `${name} ${asn} ${address}`)).toEqual(["tor 64512 192.168.11.2", "tor2 64513 192.168.12.2"]);
  const uplinks = links.filter(({ name, ends: [{ host }] }) => [...nodes, "client"].includes(host) && /-tor2?$/.test(name));
  expect(uplinks.map(({ name, ends: [{ device, address }] }) => `${name} ${device} ${address}`)).toEqual([
    "node1-tor eth1 192.168.11.11/24",
    "node1-tor2 eth2 192.168.12.11/24",
    "node2-tor eth1 192.168.11.12/24",
    "node2-tor2 eth2 192.168.12.12/24",
    "client-tor eth0 10.20.0.2/24",
    "client-tor2 eth1 10.21.0.2/24",
  ]);
});

test("both clients are on the access segment with all nodes", () => {
  const { links } = topologyOf({ nodes: 1, tors: 2 });
  const access = links.filter(({ ends: [, port] }) => port.bridge === "access");
  expect(access.map(({ ends: [{ host, address }, port] }) => `${host} ${address} ${port.host}`)).toEqual([
    "node1 10.30.0.11/24 tor",
    "client 10.30.0.2/24 tor",
    "client2 10.30.0.3/24 tor",
  ]);
});

test.each(every)("no name, device or address is used twice with $nodes nodes and $tors ToRs", (options) => {
  const topology = topologyOf(options);
  const ends = topology.links.flatMap((link) => link.ends);
  expect(duplicates(topology.links.map(({ name }) => name))).toEqual([]);
  expect(duplicates(ends.map(({ host, device }) => `${host} ${device}`))).toEqual([]);
  expect(duplicates(ends.flatMap(({ address }) => address ?? []))).toEqual([]);
  expect(ends.map(({ host }) => host).filter((host) => ![MACHINE, ...hostNames(topology)].includes(host))).toEqual([]);
  // The kernel's limit.
  expect(ends.filter(({ device }) => device.length > 15)).toEqual([]);
});

function duplicates(texts: readonly string[]): string[] {
  return texts.filter((text, nth) => texts.indexOf(text) < nth);
}
