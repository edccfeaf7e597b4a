import * as fc from "fast-check";
import { Address, BITS, type Family } from "../address.ts";
import { Prefix } from "../prefix.ts";
import { Range } from "../range.ts";

// What property tests draw from: groups are often zero and numbers often near an end, where the mistakes are.

const group = fc.oneof(fc.constantFrom(0, 0, 0, 1, 0xffff), fc.integer({ min: 0, max: 0xffff }));

function addressesOf(family: Family): fc.Arbitrary<Address> {
  const groups = BITS[family] / 16;
  return fc.array(group, { minLength: groups, maxLength: groups }).map(
    (values) =>
      new Address(
        family,
        values.reduce((value, group) => (value << 16n) | BigInt(group), 0n),
      ),
  );
}

const mapped = addressesOf(4).map(({ value }) => new Address(6, (0xffffn << 32n) | value));

export const addresses = fc.oneof(addressesOf(4), addressesOf(6), mapped);

export const prefixes = addresses.chain((address) =>
  fc.integer({ min: 0, max: BITS[address.family] }).map((length) => new Prefix(address, length)),
);

export const ranges = fc
  .oneof(fc.tuple(addressesOf(4), addressesOf(4)), fc.tuple(addressesOf(6), addressesOf(6)))
  .map(([a, b]) => (a.compare(b) <= 0 ? new Range(a, b) : new Range(b, a)));
