import * as fc from "fast-check";
import { prefixes } from "../../src/ip/testing/generators.ts";

// Texts that are addresses or prefixes in every spelling, texts that nearly are, and some that are not at all.

const octet = fc.oneof(fc.constantFrom(0, 1, 10, 255), fc.nat(255)).map(String);
const ipv4 = fc.array(octet, { minLength: 4, maxLength: 4 }).map((octets) => octets.join("."));

const group = fc
  .tuple(fc.oneof(fc.constantFrom(0, 0, 0, 1, 0xffff), fc.nat(0xffff)), fc.integer({ min: 1, max: 4 }), fc.boolean())
  .map(([value, digits, upper]) => (upper ? value.toString(16).toUpperCase() : value.toString(16)).padStart(digits, "0"));

const ipv6 = fc
  .record({
    groups: fc.array(group, { minLength: 8, maxLength: 8 }),
    ending: fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: ipv4 }),
    compressed: fc.option(fc.record({ start: fc.nat(8), length: fc.nat(8) }), { freq: 4, nil: undefined }),
  })
  .map(({ groups, ending, compressed }) => {
    const parts = ending ? [...groups.slice(0, 6), ending] : groups;
    if (!compressed) return parts.join(":");
    const { start, length } = compressed;
    return `${parts.slice(0, start).join(":")}::${parts.slice(start + length).join(":")}`;
  });

const mapped = ipv4.map((ending) => `::ffff:${ending}`);
const zoned = fc.tuple(ipv6, fc.constantFrom("%eth0", "%1", "%")).map((parts) => parts.join(""));
const address = fc.oneof({ weight: 4, arbitrary: ipv4 }, { weight: 5, arbitrary: ipv6 }, mapped, zoned);

const length = fc.oneof(
  { weight: 4, arbitrary: fc.nat(32).map(String) },
  { weight: 3, arbitrary: fc.nat(140).map(String) },
  { weight: 1, arbitrary: fc.constantFrom("", "08", "00", "+8", "-1", "8 ", "٨", "255.255.0.0", "0.0.255.255", "24/24") },
);
const addressWithLength = fc.tuple(address, length).map((parts) => parts.join("/"));

const regular = fc.oneof(address, addressWithLength, prefixes.map(String));

const character = fc.constantFrom("0", "1", "9", "a", "F", "g", ":", "::", ".", "/", "%", "-", " ", "\n", "٣", "１");

/** One character more, or one less, or another, at a random place. */
const misspelt = fc.tuple(regular, fc.nat(), fc.nat(1), fc.oneof(character, fc.constant(""))).map(([text, position, gone, inserted]) => {
  const index = position % (text.length + 1);
  return text.slice(0, index) + inserted + text.slice(index + gone);
});

const garbage = fc.string({ unit: character, maxLength: 24 });

export const texts = fc.oneof({ weight: 10, arbitrary: regular }, { weight: 8, arbitrary: misspelt }, { weight: 1, arbitrary: garbage });
