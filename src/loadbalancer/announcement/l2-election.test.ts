import { expect, test } from "vitest";
import { announcingNode, eligibleNodes, shouldRelease, shouldWait } from "./l2-election.ts";

const all = () => true;
const isNot = (name: string) => (node: string) => node !== name;

test("live candidates with an interface for it are eligible, in election order", () => {
  expect(eligibleNodes(["c", "a", "b"], isNot("a"), all)).toEqual(["c", "b"]);
  expect(eligibleNodes(["a", "b", "c"], all, isNot("a"))).toEqual(["b", "c"]);
  expect(eligibleNodes(["a"], () => false, all)).toEqual([]);
});

test("without any interface for it, the first live candidate reports that", () => {
  expect(
    eligibleNodes(
      ["a", "b", "c"],
      (node) => node !== "a",
      () => false,
    ),
  ).toEqual(["b", "c"]);
});

test("the first eligible node in election order announces", () => {
  expect(announcingNode(["c", "a", "b"], ["c", "a", "b"])).toBe("c");
  expect(announcingNode(["c", "a", "b"], ["b", "a"])).toBe("a");
  expect(announcingNode(["c", "a"], [])).toBeUndefined();
});

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
