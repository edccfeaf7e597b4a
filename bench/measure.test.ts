import { describe, expect, test } from "vitest";
import { ALL, compare, defineBench, interleaved, median, mustBeZero } from "./measure.ts";

const about = { bench: "example", what: "time to start", goal: 2, unit: "ms" };

describe("median", () => {
  test("is the middle value, however the values are ordered", () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([30, 9, 200, 1, 10])).toBe(10);
  });

  test("of an even number of values is the mean of the two middle ones", () => {
    expect(median([4, 1, 3, 100])).toBe(3.5);
  });

  test("does not change the values", () => {
    const values = [3, 1, 2];
    median(values);
    expect(values).toEqual([3, 1, 2]);
  });
});

describe("compare", () => {
  test("has the ratio of the peer's median to ours", () => {
    expect(compare(about, [2, 4, 3, 3, 30], [12, 11, 13, 12, 1])).toEqual({
      ...about,
      kind: "figure",
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

  test("has a finite ratio when ours is zero", () => {
    expect(JSON.parse(JSON.stringify(compare(about, [0, 0, 0], [7, 7, 7])))).toMatchObject({ ratio: ALL, spread: 0 });
    expect(compare(about, [0], [0])).toMatchObject({ ratio: ALL });
  });
});

describe("mustBeZero", () => {
  test("meets its goal when every run of ours is zero", () => {
    expect(mustBeZero(about, [0, 0, 0], [7, 7, 7])).toMatchObject({ kind: "correctness", ratio: ALL, goal: ALL, ours: 0 });
  });

  test("misses its goal when one run is not zero", () => {
    const { ratio, goal, ours } = mustBeZero(about, [0, 0, 3, 0, 0], [30, 30, 30, 30, 30]);
    expect({ ratio, ours }).toEqual({ ratio: 10, ours: 3 });
    expect(ratio).toBeLessThan(goal);
  });
});

test("a bench gets the counts of the size it is run at", async () => {
  const bench = defineBench({
    full: { runs: 5 },
    tiny: { runs: 1 },
    run: ({ runs }) => Promise.resolve([compare(about, Array<number>(runs).fill(1), [1])]),
  });
  const runsAt = async (size: "full" | "tiny") => (await bench.run(size, () => undefined)).map(({ runs }) => runs);
  expect(await runsAt("full")).toEqual([5]);
  expect(await runsAt("tiny")).toEqual([1]);
});

describe("interleaved", () => {
  test("runs ours and the peer's alternately, one at a time, the given number of times", async () => {
    const calls: string[] = [];
    let under = 0;
    const contestant = (name: string) => async (run: number) => {
      expect(++under).toBe(1);
      await Promise.resolve();
      calls.push(`${name} ${run}`);
      under--;
      return `${name} ${run}`;
    };

    const reports = await interleaved(2, { ours: contestant("ours"), peer: contestant("peer") });

    expect(calls).toEqual(["ours 0", "peer 0", "ours 1", "peer 1"]);
    expect(reports).toEqual({ ours: ["ours 0", "ours 1"], peer: ["peer 0", "peer 1"] });
  });

  test("ends at the first run that fails", async () => {
    const calls: string[] = [];
    const result = interleaved(2, {
      ours: (run) => Promise.resolve(calls.push(`ours ${run}`)),
      peer: () => Promise.reject(new Error("the peer failed")),
    });
    await expect(result).rejects.toThrow("the peer failed");
    expect(calls).toEqual(["ours 0"]);
  });
});
