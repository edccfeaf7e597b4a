import { expect, test } from "vitest";
import { didYouMean, nearest } from "./nearest.ts";

test.for([
  ["l3vin", ["l3vni", "l2vni", "pods"], ["l3vni"]],
  ["l4vni", ["l3vni", "l2vni", "pods"], ["l2vni", "l3vni"]],
  ["ipadresspool", ["ipaddresspools", "ipaddresspool"], ["ipaddresspool"]],
  ["Pod", ["pods"], ["pods"]],
  ["xyz", ["l3vni", "po"], []],
  ["", ["a", "ab"], []],
] as const)("the nearest of %s among %j is %j", ([text, candidates, expected]) => {
  expect(nearest(text, candidates)).toEqual(expected);
});

test("a suggestion has the format of commander", () => {
  expect(didYouMean("l3vin", ["l3vni"])).toBe(" (Did you mean l3vni?)");
  expect(didYouMean("l4vni", ["l3vni", "l2vni"])).toBe(" (Did you mean one of l2vni, l3vni?)");
  expect(didYouMean("services", ["x"])).toBe("");
});
