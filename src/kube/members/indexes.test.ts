import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { assignIndexes, type Indexes } from "./indexes.ts";

const none: Indexes = { indexes: {}, freed: [] };
const monday = new Date("2026-11-16T10:00:00.000Z");
const hour = 60 * 60 * 1000;
const later = (ms: number) => new Date(monday.getTime() + ms);

test("new nodes get the lowest indexes, in the order of their names", () => {
  expect(assignIndexes(none, ["b", "a"], monday)).toEqual({ indexes: { a: { index: 0 }, b: { index: 1 } }, freed: [] });
});

test("an existing node keeps its index and all its recorded fields", () => {
  const existing = { indexes: { b: { index: 7, note: "kept" } }, freed: [] };
  expect(assignIndexes(existing, ["a", "b"], monday).indexes).toEqual({ a: { index: 0 }, b: { index: 7, note: "kept" } });
});

test("the index of a deleted node is reserved for 24 hours and then available again", () => {
  const existing = assignIndexes(none, ["a", "b"], monday);
  const without = assignIndexes(existing, ["b"], monday);
  expect(without).toEqual({ indexes: { b: { index: 1 } }, freed: [{ index: 0, at: "2026-11-16T10:00:00.000Z" }] });
  expect(assignIndexes(without, ["b", "c"], later(24 * hour - 1)).indexes["c"]).toEqual({ index: 2 });
  expect(assignIndexes(without, ["b", "c"], later(24 * hour))).toEqual({ indexes: { b: { index: 1 }, c: { index: 0 } }, freed: [] });
});

test("a new node keeps the index of its annotation, also a reserved one, unless another node has it", () => {
  const existing = { indexes: { a: { index: 3 } }, freed: [{ index: 5, at: monday.toISOString() }] };
  const carried = new Map([
    ["a", 8],
    ["b", 3],
    ["c", 7],
    ["d", 7],
    ["e", 5],
  ]);
  expect(assignIndexes(existing, ["a", "b", "c", "d", "e", "f"], later(hour), carried)).toEqual({
    indexes: { a: { index: 3 }, b: { index: 0 }, c: { index: 7 }, d: { index: 1 }, e: { index: 5 }, f: { index: 2 } },
    freed: [],
  });
});

function* lived(steps: { nodes: string[]; hours: number }[]) {
  let state = none;
  let now = monday;
  for (const { nodes, hours } of steps) {
    now = new Date(now.getTime() + hours * hour);
    const before = state;
    state = assignIndexes(before, nodes, now);
    yield { before, after: state, nodes, now };
  }
}

describe("for any history of created and deleted nodes", () => {
  const history = fc.array(
    fc.record({
      nodes: fc.uniqueArray(fc.constantFrom("a", "b", "c", "d", "e", "f"), { maxLength: 6 }),
      hours: fc.integer({ min: 0, max: 30 }),
    }),
    { maxLength: 30 },
  );

  test("every node has an index, no two the same, and none ever loses it while it exists", () => {
    fc.assert(
      fc.property(history, (steps) => {
        for (const { before, after, nodes } of lived(steps)) {
          expect(Object.keys(after.indexes).sort()).toEqual([...nodes].sort());
          const numbers = Object.values(after.indexes).map(({ index }) => index);
          expect(new Set(numbers).size).toBe(numbers.length);
          const stayed = Object.entries(before.indexes).filter(([node]) => nodes.includes(node));
          expect(after.indexes).toMatchObject(Object.fromEntries(stayed));
        }
      }),
      { seed: 3, numRuns: 200 },
    );
  });

  test("an index is reserved for 24 hours after its node is deleted, and the lowest available index is assigned", () => {
    fc.assert(
      fc.property(history, (steps) => {
        const freedAt = new Map<number, number>();
        for (const { before, after, now } of lived(steps)) {
          const at = now.getTime();
          for (const [node, { index }] of Object.entries(before.indexes)) if (!after.indexes[node]) freedAt.set(index, at);
          const existing = new Set(Object.values(after.indexes).map(({ index }) => index));
          for (const [node, { index }] of Object.entries(after.indexes)) {
            if (before.indexes[node]) continue;
            const rests = (number: number) => at - (freedAt.get(number) ?? -Infinity) < 24 * hour;
            expect(rests(index)).toBe(false);
            for (let lower = 0; lower < index; lower += 1) expect(existing.has(lower) || rests(lower)).toBe(true);
          }
        }
      }),
      { seed: 3, numRuns: 200 },
    );
  });

  test("assigning again for the same nodes changes nothing", () => {
    fc.assert(
      fc.property(history, (steps) => {
        for (const { after, nodes, now } of lived(steps)) expect(assignIndexes(after, nodes, now)).toEqual(after);
      }),
      { seed: 3, numRuns: 200 },
    );
  });
});
