import { describe, expect, test } from "vitest";
import { bgpAd, community, load, type ConfigParts, failureTexts } from "../testing/config-fixtures.ts";

const failuresOf = (parts: ConfigParts) => failureTexts(load(parts));

describe("a Community", () => {
  test.each([
    ["64512", "invalid community format: 64512"],
    ["", "invalid community format: "],
    ["1:2:3", "invalid community format: 1:2:3"],
    ["large:1:2", "invalid community format: large:1:2"],
    ["1:65536", 'invalid community value: "65536" in "1:65536" is not a number from 0 to 65535'],
    ["a:1", 'invalid community value: "a" in "a:1" is not a number from 0 to 65535'],
    ["1:-1", 'invalid community value: "-1" in "1:-1" is not a number from 0 to 65535'],
    ["large:1:2:4294967296", 'invalid community value: "4294967296" in "large:1:2:4294967296" is not a number from 0 to 4294967295'],
  ])("with the value %j is rejected", (value, problem) => {
    expect(failuresOf({ communities: [community("c", { alias: value })] })).toEqual([
      `C1 Community/c spec.communities[0].value: parsing community "alias": ${problem}`,
    ]);
  });

  test("defines aliases for advertisements, which may also use plain values", () => {
    const communities = [community("c", { one: "064512:0100", big: "large:4294967295:0:1" })];
    const { config, failures } = load({ communities, bgpAdvertisements: [bgpAd("ad", { communities: ["big", "one", "65535:666"] })] });
    expect(failures).toEqual([]);
    expect(config.bgpAds.get("ad")?.communities).toEqual(["64512:100", "65535:666", "large:4294967295:0:1"]);
  });

  test("must not define an alias twice, nor the alias of another Community", () => {
    const twice = community("twice", {});
    twice.spec.communities = [
      { name: "a", value: "1:1" },
      { name: "a", value: "1:2" },
    ];
    expect(failuresOf({ communities: [twice] })).toEqual([
      'C2 Community/twice spec.communities[1].name: duplicate definition of community "a"',
    ]);
    const communities = [community("old", { a: "1:1" }), community("young", { b: "1:2", a: "1:3" }, { hour: 1 })];
    expect(failuresOf({ communities })).toEqual(['C2 Community/young spec.communities[1].name: duplicate definition of community "a"']);
  });
});
