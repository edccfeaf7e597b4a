import { expect, test } from "vitest";
import { announcingNode, eligibleNodes } from "./l2-election.ts";

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
