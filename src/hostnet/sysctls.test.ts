import * as fc from "fast-check";
import { expect, test } from "vitest";
import { differingSysctls } from "./sysctls.ts";

const key: fc.Arbitrary<string> = fc.constantFrom(
  "net/ipv4/ip_forward",
  "net/ipv4/conf/eth1/rp_filter",
  "net/ipv4/ip_default_ttl",
  "net/ipv6/conf/lo/disable_ipv6",
);
const value = fc.constantFrom("0", "1", "2", "64", "128");
const wanted = fc.dictionary(
  key,
  fc.uniqueArray(value, { minLength: 1, maxLength: 3 }).map((values) => values.join("|")),
);
const have = fc.array(fc.tuple(key, value)).map((entries) => new Map(entries));

test("writing the differences leaves none, and nothing else is written", () => {
  fc.assert(
    fc.property(wanted, have, (want, before) => {
      const differing = differingSysctls(want, before);
      const after = new Map([...before, ...differing]);
      expect(differingSysctls(want, after)).toEqual(new Map());
      const isAccepted = (name: string, now = "") => want[name] === undefined || want[name].split("|").includes(now);
      expect([...after].filter(([name, now]) => !isAccepted(name, now))).toEqual([]);
      expect([...differing.keys()].filter((name) => isAccepted(name, before.get(name)))).toEqual([]);
      expect([...after.keys()].sort()).toEqual([...before.keys()].sort());
    }),
    { seed: 19 },
  );
});

test("writes the first accepted value, and skips a setting that the kernel lacks", () => {
  const want = { "net/ipv4/ip_default_ttl": "64|128", "net/ipv6/conf/all/disable_ipv6": "0" };
  expect(differingSysctls(want, new Map([["net/ipv4/ip_default_ttl", "1"]]))).toEqual(new Map([["net/ipv4/ip_default_ttl", "64"]]));
  expect(differingSysctls(want, new Map([["net/ipv4/ip_default_ttl", "128"]]))).toEqual(new Map());
});
