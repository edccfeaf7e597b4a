import { expect, test } from "vitest";
import { parseAddress } from "./address.ts";
import { InterfaceAddress, parseInterfaceAddress } from "./interface-address.ts";
import { parsePrefix } from "./prefix.ts";

test("an interface address keeps its host bits and knows its network", () => {
  const gateway = parseInterfaceAddress("192.168.1.5/24");
  expect(gateway.address).toEqual(parseAddress("192.168.1.5"));
  expect(gateway.prefix).toEqual(parsePrefix("192.168.1.0/24"));
});

test("it prints canonically, also in JSON", () => {
  expect(String(parseInterfaceAddress("FD00:0::5/64"))).toBe("fd00::5/64");
  expect(JSON.stringify([parseInterfaceAddress("192.168.1.5/24")])).toBe('["192.168.1.5/24"]');
});

test("it is made of an address of a network", () => {
  const network = parsePrefix("192.168.1.0/24");
  expect(String(new InterfaceAddress(network.nth(2), network.length))).toBe("192.168.1.2/24");
});

test("it equals another with the same address and the same length", () => {
  const gateway = parseInterfaceAddress("192.168.1.5/24");
  expect(gateway.equals(parseInterfaceAddress("192.168.1.5/24"))).toBe(true);
  expect(gateway.equals(parseInterfaceAddress("192.168.1.6/24"))).toBe(false);
  expect(gateway.equals(parseInterfaceAddress("192.168.1.5/25"))).toBe(false);
});

test("it is rejected like a prefix", () => {
  expect(() => parseInterfaceAddress("192.168.1.5")).toThrow('"192.168.1.5": the prefix length is missing; a single address is /32');
  expect(() => parseInterfaceAddress("192.168.1.500/24")).toThrow('"192.168.1.500/24": in "192.168.1.500" octet 4 is more than 255');
});
