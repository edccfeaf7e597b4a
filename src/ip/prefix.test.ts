import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseAddress } from "./address.ts";
import { prefixes } from "./testing/generators.ts";
import { parseMaskedPrefix, parsePrefix, Prefix } from "./prefix.ts";

describe("a prefix prints canonically", () => {
  test.each([
    ["0.0.0.0/0", "0.0.0.0/0"],
    ["10.0.0.0/24", "10.0.0.0/24"],
    ["10.0.0.1/32", "10.0.0.1/32"],
    ["::/0", "::/0"],
    ["2001:DB8:0::/48", "2001:db8::/48"],
    ["::ffff:10.0.0.0/104", "::ffff:10.0.0.0/104"],
  ])("%s as %s", (text, canonical) => {
    expect(parsePrefix(text).toString()).toBe(canonical);
  });

  test("and parses to itself", () => {
    fc.assert(
      fc.property(prefixes, (prefix) => {
        expect(parsePrefix(prefix.toString())).toEqual(prefix);
      }),
      { seed: 3, numRuns: 500 },
    );
  });

  test("also in JSON", () => {
    expect(JSON.stringify([parsePrefix("FD00::/8")])).toBe('["fd00::/8"]');
  });
});

describe("rejects invalid prefixes with the problem and its position", () => {
  test.each([
    ["10.0.0.0/33", "TooLarge", '"10.0.0.0/33": the prefix length is more than 32'],
    ["::/129", "TooLarge", '"::/129": the prefix length is more than 128'],
    ["10.0.0.0/99999999999999999999", "TooLarge", '"10.0.0.0/99999999999999999999": the prefix length is more than 32'],
    ["10.0.0.0/", "MissingPrefixLength", '"10.0.0.0/": the prefix length is missing; a single address is /32'],
    ["10.0.0.0", "MissingPrefixLength", '"10.0.0.0": the prefix length is missing; a single address is /32'],
    ["2001:db8::", "MissingPrefixLength", '"2001:db8::": the prefix length is missing; a single address is /128'],
    ["10.0.0.0/08", "LeadingZero", '"10.0.0.0/08": the prefix length has a leading zero'],
    ["0.0.0.0/00", "LeadingZero", '"0.0.0.0/00": the prefix length has a leading zero'],
    ["10.0.0.0/-1", "UnexpectedCharacter", '"10.0.0.0/-1": the prefix length is not a number'],
    ["10.0.0.0/8 ", "UnexpectedCharacter", '"10.0.0.0/8 ": the prefix length is not a number'],
    ["10.0.0.0/8\n", "UnexpectedCharacter", '"10.0.0.0/8\\n": the prefix length is not a number'],
    ["10.0.0.0/٨", "UnexpectedCharacter", '"10.0.0.0/٨": the prefix length is not a number'],
    ["10.0.0.0/24/24", "UnexpectedCharacter", '"10.0.0.0/24/24": the prefix length is not a number'],
    ["10.0.0.0/255.0.0.0", "UnexpectedCharacter", '"10.0.0.0/255.0.0.0": the prefix length is not a number'],
    ["10.0.0.300/24", "TooLarge", '"10.0.0.300/24": in "10.0.0.300" octet 4 is more than 255'],
    ["10.0.0.300", "TooLarge", '"10.0.0.300": octet 4 is more than 255'],
    ["10.0.0/24", "WrongCount", '"10.0.0/24": in "10.0.0" an IPv4 address has 4 octets, not 3'],
    ["fe80::%eth0/64", "ZoneNotAllowed", '"fe80::%eth0/64": in "fe80::%eth0" a zone is not allowed here, remove "%eth0"'],
    ["/24", "Empty", '"/24": the address is missing'],
    ["", "Empty", '"": the address is missing'],
  ])("%j, also with host bits masked off", (text, code, message) => {
    const error = expect.objectContaining({ name: "IpError", code, input: text, message });
    expect(() => parsePrefix(text)).toThrow(error);
    expect(() => parseMaskedPrefix(text)).toThrow(error);
  });
});

describe("host bits", () => {
  test("are rejected, and the message names the network", () => {
    const error = expect.objectContaining({
      code: "HostBitsSet",
      message: '"10.0.0.5/24": host bits are set; the network is 10.0.0.0/24',
    });
    expect(() => parsePrefix("10.0.0.5/24")).toThrow(error);
    expect(() => parsePrefix("2001:db8::1/64")).toThrow('"2001:db8::1/64": host bits are set; the network is 2001:db8::/64');
  });

  test("or masked off on request", () => {
    expect(String(parseMaskedPrefix("10.0.0.5/24"))).toBe("10.0.0.0/24");
    expect(String(parseMaskedPrefix("2001:db8::1/64"))).toBe("2001:db8::/64");
    expect(String(parseMaskedPrefix("255.255.255.255/0"))).toBe("0.0.0.0/0");
  });
});

test("a prefix runs from its network address to its broadcast address", () => {
  const { first, last, count, length } = parsePrefix("192.168.4.0/22");
  expect([first, last].join(" ")).toBe("192.168.4.0 192.168.7.255");
  expect(count).toBe(1024n);
  expect(length).toBe(22);
  expect(parsePrefix("2001:db8::/64").count).toBe(18446744073709551616n);
});

test("a prefix without a length is a host prefix", () => {
  expect(String(new Prefix(parseAddress("10.0.0.1")))).toBe("10.0.0.1/32");
  expect(String(new Prefix(parseAddress("fd00::1")))).toBe("fd00::1/128");
});

test("a prefix length is between 0 and the address length", () => {
  expect(() => new Prefix(parseAddress("10.0.0.0"), 33)).toThrow('"10.0.0.0/33": an IPv4 prefix length is 0 to 32');
  expect(() => new Prefix(parseAddress("::"), -1)).toThrow('"::/-1": an IPv6 prefix length is 0 to 128');
});

test("two prefixes overlap exactly when one contains the other", () => {
  const near = prefixes.chain((prefix) =>
    fc.tuple(
      fc.constant(prefix),
      fc.integer({ min: 0, max: 32 }).map((length) => new Prefix(prefix.last, length)),
    ),
  );
  fc.assert(
    fc.property(fc.oneof(near, fc.tuple(prefixes, prefixes)), ([a, b]) => {
      expect(a.overlaps(b)).toBe(a.contains(b) || b.contains(a));
    }),
    { seed: 3, numRuns: 500 },
  );
});
