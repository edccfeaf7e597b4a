import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Address, addressOf, parseAddress } from "./address.ts";
import { addresses } from "./testing/generators.ts";

describe("an address prints canonically", () => {
  test.each([
    ["0.0.0.0", "0.0.0.0"],
    ["192.168.1.30", "192.168.1.30"],
    ["255.255.255.255", "255.255.255.255"],
    ["::", "::"],
    ["0:0:0:0:0:0:0:0", "::"],
    ["::1", "::1"],
    ["1::", "1::"],
    ["2001:DB8::ABCD", "2001:db8::abcd"],
    ["2001:0db8:0000:0000:0001:0000:0000:0001", "2001:db8::1:0:0:1"],
    ["2001:0:0:1:0:0:0:1", "2001:0:0:1::1"],
    ["2001:db8::1:1:1:1:1", "2001:db8:0:1:1:1:1:1"],
    ["10:0:0:0:0:0:0:10", "10::10"],
    ["0:0:1:2:3:4:0:0", "::1:2:3:4:0:0"],
    ["1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"],
    ["::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"],
    ["1:2:3:4:5:6:10.0.0.1", "1:2:3:4:5:6:a00:1"],
    ["64:ff9b::192.0.2.1", "64:ff9b::c000:201"],
    ["::10.0.0.1", "::a00:1"],
    ["::ffff:10.0.0.1", "::ffff:10.0.0.1"],
    ["::FFFF:a00:1", "::ffff:10.0.0.1"],
    ["0:0:0:0:0:ffff:0:0", "::ffff:0.0.0.0"],
  ])("%s as %s", (text, canonical) => {
    expect(parseAddress(text).toString()).toBe(canonical);
  });

  test("a printed address parses to the same address", () => {
    fc.assert(
      fc.property(addresses, (address) => {
        expect(parseAddress(address.toString())).toEqual(address);
      }),
      { seed: 3, numRuns: 1000 },
    );
  });

  test("also in JSON, which has no BigInt", () => {
    expect(JSON.stringify({ ip: parseAddress("FE80::1") })).toBe('{"ip":"fe80::1"}');
  });
});

describe("rejects invalid addresses with the problem and its position", () => {
  test.each([
    ["", "Empty", '"": the address is missing'],
    ["10", "WrongCount", '"10": an IPv4 address has 4 octets, not 1'],
    ["1.2.3", "WrongCount", '"1.2.3": an IPv4 address has 4 octets, not 3'],
    ["1.2.3.4.5", "WrongCount", '"1.2.3.4.5": an IPv4 address has 4 octets, not 5'],
    ["1.2..4", "EmptyPart", '"1.2..4": octet 3 is empty'],
    ["1.2.3.", "EmptyPart", '"1.2.3.": octet 4 is empty'],
    ["192.168.1.300", "TooLarge", '"192.168.1.300": octet 4 is more than 255'],
    ["192.168.1.256", "TooLarge", '"192.168.1.256": octet 4 is more than 255'],
    ["1000.0.0.1", "TooLarge", '"1000.0.0.1": octet 1 is more than 255'],
    ["010.0.0.1", "LeadingZero", '"010.0.0.1": octet 1 has a leading zero'],
    ["10.0.00.1", "LeadingZero", '"10.0.00.1": octet 3 has a leading zero'],
    ["10.0.0.1 ", "UnexpectedCharacter", '"10.0.0.1 ": unexpected " " at position 9'],
    ["10.0.0.1\n", "UnexpectedCharacter", '"10.0.0.1\\n": unexpected "\\n" at position 9'],
    ["10.0.0.1/32", "UnexpectedCharacter", '"10.0.0.1/32": unexpected "/" at position 9'],
    ["-1.0.0.1", "UnexpectedCharacter", '"-1.0.0.1": unexpected "-" at position 1'],
    ["0x7f.0.0.1", "UnexpectedCharacter", '"0x7f.0.0.1": unexpected "x" at position 2'],
    ["example.com", "UnexpectedCharacter", '"example.com": unexpected "e" at position 1'],
    ["10.0.0.١", "UnexpectedCharacter", '"10.0.0.١": unexpected "١" (U+0661) at position 8'],
    ["10.0.0.1\u200b", "UnexpectedCharacter", '"10.0.0.1\u200b": unexpected "\u200b" (U+200B) at position 9'],
    ["10.0.0.1\u007f", "UnexpectedCharacter", String.raw`"10.0.0.1\u007f": unexpected "\u007f" (U+007F) at position 9`],
    ["10.0.0.𝟏", "UnexpectedCharacter", '"10.0.0.𝟏": unexpected "𝟏" (U+1D7CF) at position 8'],
    ["fe80::1%eth0", "ZoneNotAllowed", '"fe80::1%eth0": a zone is not allowed here, remove "%eth0"'],
    ["1::2::3", "CompressedTwice", '"1::2::3": "::" occurs more than once'],
    ["1:2:3", "WrongCount", '"1:2:3": an IPv6 address has 8 groups, not 3'],
    ["1:2:3:4:5:6:7:8:9", "WrongCount", '"1:2:3:4:5:6:7:8:9": an IPv6 address has 8 groups, not 9'],
    ["1:2:3:4:5:6:7:1.2.3.4", "WrongCount", '"1:2:3:4:5:6:7:1.2.3.4": an IPv6 address has 8 groups, not 9'],
    ["1:2:3:4::5:6:7:8", "WrongCount", '"1:2:3:4::5:6:7:8": "::" replaces at least one group, but 8 are given'],
    [":1:2:3:4:5:6:7", "EmptyPart", '":1:2:3:4:5:6:7": a group is empty, and only "::" leaves groups out'],
    ["1:2:3:4:5:6:7:", "EmptyPart", '"1:2:3:4:5:6:7:": a group is empty, and only "::" leaves groups out'],
    [":", "EmptyPart", '":": a group is empty, and only "::" leaves groups out'],
    ["1:::2", "EmptyPart", '"1:::2": a group is empty, and only "::" leaves groups out'],
    ["2001:db8::12345", "TooLarge", '"2001:db8::12345": group "12345" has more than 4 digits'],
    ["2001:db8::g", "UnexpectedCharacter", '"2001:db8::g": unexpected "g" at position 11'],
    ["[::1]", "UnexpectedCharacter", '"[::1]": unexpected "[" at position 1'],
    [" ::1", "UnexpectedCharacter", '" ::1": unexpected " " at position 1'],
    ["::ffff:1.2.3.400", "TooLarge", '"::ffff:1.2.3.400": in "1.2.3.400" octet 4 is more than 255'],
    ["::ffff:1.2.3.04", "LeadingZero", '"::ffff:1.2.3.04": in "1.2.3.04" octet 4 has a leading zero'],
    ["::1.2", "WrongCount", '"::1.2": in "1.2" an IPv4 address has 4 octets, not 2'],
    ["1.2.3.4::", "MisplacedIPv4", '"1.2.3.4::": "1.2.3.4" is allowed only at the end'],
  ])("%j", (text, code, message) => {
    expect(() => parseAddress(text)).toThrow(expect.objectContaining({ name: "IpError", code, input: text, message }));
  });

  test("with a short message, however long the text is", () => {
    expect(() => parseAddress("1".repeat(1_000_000))).toThrow(`"${"1".repeat(64)}…": an IPv4 address has 4 octets, not 1`);
  });

  test("and throws no other error", () => {
    const text = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom("0", "1", "2", "9", "a", "F", ":", "::", ".", "%", "/", " ") }));
    fc.assert(
      fc.property(text, (text) => {
        const address = addressOf(text);
        expect(addressOf(String(address))).toEqual(address);
      }),
      { seed: 3, numRuns: 2000 },
    );
  });
});

test("an IPv4-mapped address is an IPv6 address with an IPv4 address", () => {
  const mapped = parseAddress("::ffff:10.0.0.1");
  expect(mapped.family).toBe(6);
  expect(mapped.equals(parseAddress("10.0.0.1"))).toBe(false);
  expect(mapped.mappedIPv4).toEqual(parseAddress("10.0.0.1"));
  expect(parseAddress("::fffe:10.0.0.1").mappedIPv4).toBeUndefined();
  expect(parseAddress("1::ffff:10.0.0.1").mappedIPv4).toBeUndefined();
  expect(parseAddress("0.0.255.255").mappedIPv4).toBeUndefined();
});

test("addresses sort by number, all of IPv4 before all of IPv6", () => {
  const sorted = ["0.0.0.0", "9.255.255.255", "10.0.0.2", "10.0.0.10", "255.255.255.255", "::", "::1", "::ffff:10.0.0.2", "fe80::1"];
  expect(
    sorted
      .toReversed()
      .map(parseAddress)
      .sort((a, b) => a.compare(b))
      .join(" "),
  ).toBe(sorted.join(" "));
});

test("the order is total", () => {
  fc.assert(
    fc.property(addresses, addresses, addresses, (a, b, c) => {
      expect(a.compare(b)).toBe(0 - b.compare(a));
      expect(a.compare(b) === 0).toBe(a.toString() === b.toString());
      const [low, middle, high] = [a, b, c].sort((a, b) => a.compare(b)) as [Address, Address, Address];
      expect(Math.max(low.compare(middle), middle.compare(high), low.compare(high))).toBeLessThanOrEqual(0);
    }),
    { seed: 3, numRuns: 1000 },
  );
});

test("counting up and down ends where the family ends", () => {
  expect(String(parseAddress("10.0.0.255").plus(1n))).toBe("10.0.1.0");
  expect(String(parseAddress("2001:db8::").plus(-1n))).toBe("2001:db7:ffff:ffff:ffff:ffff:ffff:ffff");
  expect(parseAddress("255.255.255.255").plus(1n)).toBeUndefined();
  expect(parseAddress("0.0.0.0").plus(-1n)).toBeUndefined();
  expect(parseAddress("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff").plus(1n)).toBeUndefined();
  expect(parseAddress("::").plus(-1n)).toBeUndefined();
});

test("no address has a number outside its family", () => {
  expect(() => new Address(4, 1n << 32n)).toThrow('"4294967296": out of range for IPv4');
  expect(() => new Address(6, -1n)).toThrow('"-1": out of range for IPv6');
});
