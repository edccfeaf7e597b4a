import { expect, test } from "vitest";
import { shouldRelease, shouldWait } from "./conflict.ts";

test.each([
  ["the earlier in election order keeps it", "a", ["a", "b"], "b", false],
  ["the later releases it", "b", ["a", "b"], "a", true],
  ["a node that is no candidate releases it", "c", ["a", "b"], "a", true],
  ["a rival that is no candidate releases it by itself", "b", ["a", "b"], "c", false],
  ["the first keeps it against an unknown MAC", "a", ["a", "b"], undefined, false],
  ["the later assumes that an unknown MAC is an earlier node", "b", ["a", "b"], undefined, true],
])("%s", (_, self, candidates, rival, expected) => {
  expect(shouldRelease(self, candidates, rival)).toBe(expected);
});

test("of any two owners of an address that know each other exactly one releases it", () => {
  const candidates = ["c", "a", "d", "b"];
  for (const one of candidates)
    for (const other of candidates.filter((name) => name !== one))
      expect(shouldRelease(one, candidates, other)).not.toBe(shouldRelease(other, candidates, one));
});

test("of two nodes that probe at once one waits: by election order if it is known, otherwise by MAC", () => {
  const a = { node: "a", mac: "02:00:00:00:00:0a" };
  const b = { node: "b", mac: "02:00:00:00:00:01" };
  expect([shouldWait(a, b, ["a", "b"]), shouldWait(b, a, ["a", "b"])]).toEqual([false, true]);
  expect([shouldWait(a, { ...b, node: undefined }, ["a"]), shouldWait(b, { ...a, node: undefined }, ["b"])]).toEqual([true, false]);
});
