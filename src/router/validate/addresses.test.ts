import * as fc from "fast-check";
import { expect, test } from "vitest";
import { prefixes } from "../../ip/testing/generators.ts";
import { parseMaskedPrefix } from "../../ip/prefix.ts";
import { routerIdOf, sessionAddresses, vtepAddress } from "./addresses.ts";

test.each([
  ["100.65.0.0/24", 0, "100.65.0.0"],
  ["100.65.0.0/24", 255, "100.65.0.255"],
  ["100.65.0.0/24", 256, undefined],
  ["100.65.0.9/32", 0, "100.65.0.9"],
  ["100.65.0.9/32", 1, undefined],
  ["100.65.0.77/24", 1, "100.65.0.1"],
])("the VTEP of %s at node index %i is %s", (cidr, index, address) => {
  expect(vtepAddress(parseMaskedPrefix(cidr), index)?.toString()).toBe(address);
});

test.each([
  ["10.0.0.0/24", 0, "10.0.0.1"],
  ["10.0.0.0/24", 254, "10.0.0.255"],
  ["10.0.0.0/24", 255, undefined],
  ["10.0.0.7/32", 0, undefined],
])("the router id of %s at node index %i is %s", (cidr, index, address) => {
  expect(routerIdOf(parseMaskedPrefix(cidr), index)?.toString()).toBe(address);
});

test.each([
  ["192.168.1.0/24", 0, "192.168.1.1/24", "192.168.1.2/24"],
  ["192.168.1.0/24", 7, "192.168.1.1/24", "192.168.1.9/24"],
  ["192.168.1.99/24", 0, "192.168.1.1/24", "192.168.1.2/24"],
  ["192.168.1.64/26", 0, "192.168.1.64/26", "192.168.1.65/26"],
  ["192.168.1.2/31", 0, "192.168.1.2/31", "192.168.1.3/31"],
  ["2001:db8::/64", 3, "2001:db8::1/64", "2001:db8::5/64"],
  ["2001:db8::10/124", 0, "2001:db8::10/124", "2001:db8::11/124"],
])("the ends of a session in %s at node index %i are %s and %s", (cidr, index, router, host) => {
  const ends = sessionAddresses(parseMaskedPrefix(cidr), index);
  expect([ends?.router.toString(), ends?.host.toString()]).toEqual([router, host]);
});

test.each([
  ["192.168.1.0/30", 1, "the broadcast address cannot be used"],
  ["192.168.1.0/30", 2, "it is past the end"],
  ["192.168.1.0/31", 0, "it is past the end"],
  ["192.168.1.5/32", 0, "it is past the end"],
  ["2001:db8::/126", 2, "it is past the end"],
])("a session in %s has no host at node index %i: %s", (cidr, index) => {
  expect(sessionAddresses(parseMaskedPrefix(cidr), index)).toBeUndefined();
});

test("no two nodes share an address, and each is in the prefix", () => {
  fc.assert(
    fc.property(prefixes, fc.array(fc.nat(300), { minLength: 2, maxLength: 8 }), (prefix, drawn) => {
      const indexes = [...new Set(drawn)];
      for (const numbering of [
        (index: number) => vtepAddress(prefix, index),
        (index: number) => routerIdOf(prefix, index),
        (index: number) => sessionAddresses(prefix, index)?.host.address,
      ]) {
        const given = indexes.flatMap((index) => numbering(index) ?? []);
        expect(new Set(given.map(String)).size).toBe(given.length);
        expect(given.every((address) => prefix.contains(address))).toBe(true);
      }
    }),
    { seed: 5, numRuns: 300 },
  );
});
