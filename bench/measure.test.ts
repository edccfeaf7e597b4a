import { describe, expect, test } from "vitest";
import { ALL, compare, interleaved, median } from "./measure.ts";

const about = { bench: "kite", what: "time to rise", goal: 2, unit: "ms" };

describe("median", () => {
  test("is the middle value, however the values are ordered", () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([30, 9, 200, 1, 10])).toBe(10);
  });

  test("of an even number of values lies half-way between the two in the middle", () => {
    expect(median([4, 1, 3, 100])).toBe(3.5);
  });

  test("leaves the values as they were", () => {
    const values = [3, 1, 2];
    median(values);
    expect(values).toEqual([3, 1, 2]);
  });
});

describe("compare", () => {
  test("says how many times smaller than the peer's our median is", () => {
    expect(compare(about, [2, 4, 3, 3, 30], [12, 11, 13, 12, 1])).toEqual({
      ...about,
      ratio: 4,
      ours: 3,
      peer: 12,
      runs: 5,
      spread: 9.333,
    });
  });

  test("rounds to four digits", () => {
    expect(compare(about, [3], [10])).toMatchObject({ ratio: 3.333, ours: 3, peer: 10 });
    expect(compare(about, [123_456], [1])).toMatchObject({ ours: 123_500, ratio: 0.0000081 });
  });

  test("nothing at all of ours beats any peer, one that has nothing too, by a ratio that survives JSON", () => {
    expect(compare(about, [0, 0, 0], [7, 7, 7])).toMatchObject({ ratio: ALL, spread: 0 });
    expect(compare(about, [0], [0])).toMatchObject({ ratio: ALL });
    expect(JSON.parse(JSON.stringify(compare({ ...about, goal: ALL }, [0], [7])))).toMatchObject({ ratio: ALL, goal: ALL });
  });
});

test("where only nothing at all is good enough, one bad run of ours is enough to miss the goal", () => {
  const { ratio, goal, ours } = compare({ ...about, goal: ALL }, [0, 0, 3, 0, 0], [30, 30, 30, 30, 30]);
  expect({ ratio, ours }).toEqual({ ratio: 10, ours: 3 });
  expect(ratio).toBeLessThan(goal);
});

describe("interleaved", () => {
  test("runs ours and the peer's in turn, one at a time, five times", async () => {
    const seen: string[] = [];
    let under = 0;
    const contestant = (name: string) => async (run: number) => {
      expect(++under).toBe(1);
      await Promise.resolve();
      seen.push(`${name} ${run}`);
      under--;
      return `${name} ${run}`;
    };

    const reports = await interleaved({ ours: contestant("ours"), peer: contestant("peer") });

    expect(seen).toEqual(["ours 0", "peer 0", "ours 1", "peer 1", "ours 2", "peer 2", "ours 3", "peer 3", "ours 4", "peer 4"]);
    expect(reports).toEqual({
      ours: ["ours 0", "ours 1", "ours 2", "ours 3", "ours 4"],
      peer: ["peer 0", "peer 1", "peer 2", "peer 3", "peer 4"],
    });
  });

  test("ends at the first run that fails", async () => {
    const seen: string[] = [];
    const result = interleaved({
      ours: (run) => Promise.resolve(seen.push(`ours ${run}`)),
      peer: () => Promise.reject(new Error("the peer fell")),
    });
    await expect(result).rejects.toThrow("the peer fell");
    expect(seen).toEqual(["ours 0"]);
  });
});
