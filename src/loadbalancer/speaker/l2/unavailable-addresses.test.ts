import { expect, test } from "vitest";
import { unavailableAddresses, isAbout, isSame, NONE } from "./unavailable-addresses.ts";

const addresses = (count: number) => new Set(Array.from({ length: count }, (_, at) => `192.0.2.${at}`));

test("a few unavailable addresses are listed exactly", () => {
  const inability = unavailableAddresses(new Set(["192.0.2.1", "2001:db8::1"]));
  expect(["192.0.2.1", "2001:db8::1", "192.0.2.2"].map((address) => isAbout(inability, address))).toEqual([true, true, false]);
  expect(isAbout(NONE, "192.0.2.1")).toBe(false);
});

test("more addresses than fit into a datagram mean all", () => {
  expect(isAbout(unavailableAddresses(addresses(20)), "198.51.100.1")).toBe(false);
  expect(isAbout(unavailableAddresses(addresses(21)), "198.51.100.1")).toBe(true);
});

test("the order of the addresses does not matter", () => {
  expect(isSame(unavailableAddresses(new Set(["192.0.2.1", "192.0.2.2"])), unavailableAddresses(new Set(["192.0.2.2", "192.0.2.1"])))).toBe(
    true,
  );
  expect(isSame(unavailableAddresses(new Set(["192.0.2.1"])), unavailableAddresses(new Set(["192.0.2.2"])))).toBe(false);
});
