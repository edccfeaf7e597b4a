import { expect, test } from "vitest";
import { policy } from "../testing/failover-fixtures.ts";
import { wavesOf } from "./waves.ts";

const members = [20, undefined, 10, 0, 10].map((wave) => ({ policy: policy(wave === undefined ? {} : { wave }) }));

test("to primary the lowest wave is first, to secondary the highest, and none is wave 0", () => {
  expect(wavesOf(members, "primary").map(({ number, members: all }) => [number, all.length])).toEqual([
    [0, 2],
    [10, 2],
    [20, 1],
  ]);
  expect(wavesOf(members, "secondary").map(({ number }) => number)).toEqual([20, 10, 0]);
});
