import { expect, test } from "vitest";
import type { Link } from "../hostnet/snapshot.ts";
import { protectedInterfaces } from "./protected-interfaces.ts";

const links = (...given: { name: string; master?: string; lower?: string; addresses?: string[] }[]) =>
  new Map(
    given.map(({ name, addresses = [], ...rest }) => [
      name,
      { name, ...rest, addresses: addresses.map((text) => ({ text })) } as unknown as Link,
    ]),
  );

const nothing = { nodeAddresses: [], towardsApi: new Set<string>() };

test("an interface with a Node address is protected, others are not", () => {
  const hostLinks = links({ name: "eth0", addresses: ["10.0.0.1/24", "192.0.2.1/24"] }, { name: "eth1", addresses: ["10.0.0.11/24"] });
  expect([...protectedInterfaces(hostLinks, { ...nothing, nodeAddresses: ["192.0.2.1", "node-1"] })]).toEqual([
    ["eth0", "carries the Node address 192.0.2.1"],
  ]);
});

test("an interface on the path to the API server is protected", () => {
  const hostLinks = links({ name: "eth0" }, { name: "eth1" });
  expect([...protectedInterfaces(hostLinks, { ...nothing, towardsApi: new Set(["eth1"]) })]).toEqual([
    ["eth1", "carries the route to the API server"],
  ]);
});

test("the ports of a protected bridge are protected, and the ports of a bond in it", () => {
  const hostLinks = links(
    { name: "eth0", master: "bond0" },
    { name: "bond0", master: "br0" },
    { name: "br0", addresses: ["2001:db8::1/64"] },
    { name: "eth1" },
  );
  expect(Object.fromEntries(protectedInterfaces(hostLinks, { ...nothing, nodeAddresses: ["2001:db8::1"] }))).toEqual({
    br0: "carries the Node address 2001:db8::1",
    bond0: "is a port of br0, which carries the Node address 2001:db8::1",
    eth0: "is a port of bond0, which carries the Node address 2001:db8::1",
  });
});

test("the lower devices of a protected VLAN are protected, down to the ports of a bond", () => {
  const hostLinks = links(
    { name: "eth0", master: "bond0" },
    { name: "bond0" },
    { name: "bond0.7", lower: "bond0", addresses: ["192.0.2.1/24"] },
    { name: "eth1.7", lower: "eth1" },
    { name: "eth1" },
  );
  expect(Object.fromEntries(protectedInterfaces(hostLinks, { ...nothing, nodeAddresses: ["192.0.2.1"] }))).toEqual({
    "bond0.7": "carries the Node address 192.0.2.1",
    bond0: "is the lower device of bond0.7, which carries the Node address 192.0.2.1",
    eth0: "is a port of bond0, which carries the Node address 192.0.2.1",
  });
});
