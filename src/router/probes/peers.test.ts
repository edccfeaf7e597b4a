import * as fc from "fast-check";
import { expect, test } from "vitest";
import { peersOf, turnsForAllPairs } from "./peers.ts";

const indexes = (count: number) => Array.from({ length: count }, (_, index) => index);

test("up to eight nodes probe all others", () => {
  expect(peersOf(2, indexes(8), 110, 5)).toEqual([0, 1, 3, 4, 5, 6, 7]);
});

test("a node without the VNI, or alone with it, probes no peer", () => {
  expect(peersOf(99, indexes(20), 110, 0)).toEqual([]);
  expect(peersOf(0, [0], 110, 0)).toEqual([]);
});

test("each node probes three others, and is probed by three", () => {
  fc.assert(
    fc.property(fc.integer({ min: 9, max: 60 }), fc.integer({ min: 1, max: 16_777_215 }), fc.nat(1000), (count, vni, turn) => {
      const probed = indexes(count).flatMap((own) => {
        const peers = peersOf(own, indexes(count), vni, turn);
        expect(new Set(peers).size).toBe(3);
        expect(peers).not.toContain(own);
        return peers;
      });
      for (const index of indexes(count)) expect(probed.filter((peer) => peer === index)).toHaveLength(3);
    }),
  );
});

test("all pairs are probed after the stated number of turns", () => {
  fc.assert(
    fc.property(fc.integer({ min: 9, max: 40 }), fc.integer({ min: 1, max: 16_777_215 }), (count, vni) => {
      const turns = indexes(turnsForAllPairs(count));
      for (const own of indexes(count)) {
        expect(new Set(turns.flatMap((turn) => peersOf(own, indexes(count), vni, turn))).size).toBe(count - 1);
      }
    }),
    { numRuns: 20 },
  );
});

test("a node that joins changes the fixed peers of two nodes at most", () => {
  fc.assert(
    fc.property(fc.integer({ min: 10, max: 60 }), fc.integer({ min: 1, max: 16_777_215 }), (count, vni) => {
      const fixed = (own: number, members: number[]) => peersOf(own, members, vni, 0).slice(0, 2).join();
      const changed = indexes(count).filter((own) => fixed(own, indexes(count)) !== fixed(own, indexes(count + 1)));
      expect(changed.length).toBeLessThanOrEqual(2);
    }),
  );
});
