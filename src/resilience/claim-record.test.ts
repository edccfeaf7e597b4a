import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { releasedValues, recordClaims } from "./claim-record.ts";
import { at, claimsOf, recorded, testSpec } from "./testing/fixtures.ts";

const created = new Date(5000);
const now = new Date(90_500);

const record = (asks: string[], before: Record<string, number> = {}, release = false) =>
  recordClaims(claimsOf(testSpec(...asks)), recorded(before), { created, now, release });
const seconds = (asks: string[], before?: Record<string, number>, release?: boolean) =>
  Object.fromEntries(record(asks, before, release).map(({ claim, since }) => [claim, Date.parse(since) / 1000]));

const asking = (...keys: string[]) => keys.map((key) => ({ key }));

describe("a record", () => {
  test("of an object without claims starts with its creation, in the time format of the API", () => {
    expect(record(["7", "10-19"])).toEqual([
      { claim: "part/0.0.0.10-0.0.0.19", since: "1970-01-01T00:00:05Z" },
      { claim: "value/7", since: "1970-01-01T00:00:05Z" },
    ]);
  });

  test("of a new value starts now, with sub-second precision, and others keep their times", () => {
    expect(record(["7", "8"], { "7": 6 })).toEqual([
      { claim: "value/7", since: "1970-01-01T00:00:06Z" },
      { claim: "value/8", since: "1970-01-01T00:01:30.500Z" },
    ]);
  });

  test("keeps a former value until it is released", () => {
    expect(seconds(["8"], { "7": 6 })).toEqual({ "value/7": 6, "value/8": 90.5 });
    expect(seconds(["8"], { "7": 6, "8": 9 }, true)).toEqual({ "value/8": 9 });
  });

  test("keeps the old time for a value that the object returns to", () => {
    expect(seconds(["7"], { "7": 6, "8": 9 })).toEqual({ "value/7": 6, "value/8": 9 });
  });

  test.each<[string, string[], Record<string, number>, boolean, Record<string, number>]>([
    ["a range that grows on both sides", ["0-30"], { "10-19": 6 }, false, { "0-9": 90.5, "10-19": 6, "20-30": 90.5 }],
    ["one that shrinks", ["12-14"], { "10-19": 6 }, false, { "10-11": 6, "12-14": 6, "15-19": 6 }],
    ["one that shrinks, the rest released", ["12-14"], { "10-19": 6 }, true, { "12-14": 6 }],
    ["one that moves", ["15-24"], { "10-19": 6 }, false, { "10-14": 6, "15-19": 6, "20-24": 90.5 }],
    ["two parts that become one", ["10-29"], { "10-19": 6, "20-29": 7 }, false, { "10-19": 6, "20-29": 7 }],
    ["parts that were recorded twice", ["10-29"], { "10-19": 6, "15-29": 3 }, false, { "10-14": 6, "15-29": 3 }],
  ])("counts by part: %s", (_what, asks, before, release, expected) => {
    const texts = Object.entries(expected).map(([part, since]) => [`part/${part.replace(/\d+/g, "0.0.0.$&")}`, since]);
    expect(seconds(asks, before, release)).toEqual(Object.fromEntries(texts));
  });

  test("omits values that follow from another one and values that cannot be parsed", () => {
    const wanted = [
      { key: "value/7", field: "", subject: "" },
      { key: "double/14", field: "", subject: "", follows: "value/7" },
    ];
    const before = [
      { claim: "value/7", since: at(6) },
      { claim: "value/6", since: "long ago" },
    ];
    expect(recordClaims(wanted, before, { created, now, release: false })).toEqual([{ claim: "value/7", since: "1970-01-01T00:00:06Z" }]);
  });

  test("distinguishes a value that looks like a part of a range from such a part and from adjacent ones", () => {
    const times = { created, now, release: false };
    const first = recordClaims(asking("alias/192.0.2.1-192.0.2.9", "alias/192.0.2.5-192.0.2.7", "alias/gold", "alias/odd/"), [], times);
    expect(releasedValues(asking("alias/192.0.2.1-192.0.2.9", "alias/192.0.2.5-192.0.2.7", "alias/gold", "alias/odd/"), first)).toEqual([]);
    const since = created.getTime();
    expect(releasedValues(asking("alias/192.0.2.1-192.0.2.9"), first)).toEqual([
      { key: "alias/192.0.2.5-192.0.2.7", since },
      { key: "alias/gold", since },
      { key: "alias/odd/", since },
    ]);
    expect(recordClaims(asking("alias/gold"), first, times)).toEqual(first);
    expect(recordClaims(asking("alias/gold"), first, { ...times, release: true })).toEqual([
      { claim: "alias/gold", since: "1970-01-01T00:00:05Z" },
    ]);
  });

  test("is idempotent", () => {
    const ask = fc.oneof(
      fc.integer({ min: 1, max: 4 }).map(String),
      fc.tuple(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 0, max: 9 })).map(([first, more]) => `${first}-${first + more}`),
    );
    const before = fc.dictionary(ask, fc.integer({ min: 1, max: 80 }), { maxKeys: 5 });
    fc.assert(
      fc.property(fc.array(ask, { maxLength: 4 }), before, fc.boolean(), (asks, before, release) => {
        const claims = claimsOf(testSpec(...asks));
        const once = recordClaims(claims, recorded(before), { created, now, release });
        expect(recordClaims(claims, once, { created, now: new Date(99_000), release })).toEqual(once);
      }),
      { seed: 3, numRuns: 500 },
    );
  });
});
