import { expect, test } from "vitest";
import { JoinBatch } from "./members-publisher.ts";

const NODES = ["a", "b", "c"];

test("agents that start together become members together, as soon as none is missing", () => {
  const joining = new JoinBatch();
  expect(joining.admit(["c"], [], NODES, 0)).toEqual({ live: [], againMs: 5_000 });
  expect(joining.admit(["b", "c"], [], NODES, 2_000)).toEqual({ live: [], againMs: 5_000 });
  expect(joining.admit(["a", "b", "c"], [], NODES, 4_000)).toEqual({ live: ["a", "b", "c"] });
});

test("a missing agent delays the others for a limited time", () => {
  const joining = new JoinBatch();
  joining.admit(["b"], [], NODES, 0);
  expect(joining.admit(["b"], [], NODES, 4_000)).toEqual({ live: [], againMs: 1_000 });
  expect(joining.admit(["b"], [], NODES, 5_000)).toEqual({ live: ["b"] });
});

test("the first agents do not wait for all later ones", () => {
  const joining = new JoinBatch();
  const many = Array.from({ length: 100 }, (_, at) => `node${String(at).padStart(2, "0")}`);
  for (let second = 0; second < 15; second++) expect(joining.admit(many.slice(0, second + 1), [], many, second * 1_000).live).toEqual([]);
  expect(joining.admit(many.slice(0, 16), [], many, 15_000)).toEqual({ live: many.slice(0, 16) });
});

test("a member leaves at once, and one that returns before it was a member waits again", () => {
  const joining = new JoinBatch();
  expect(joining.admit(["b", "c"], ["a", "b"], NODES, 0)).toEqual({ live: ["b"], againMs: 5_000 });
  expect(joining.admit(["b"], ["b"], NODES, 3_000)).toEqual({ live: ["b"] });
  expect(joining.admit(["b", "c"], ["b"], NODES, 4_000)).toEqual({ live: ["b"], againMs: 5_000 });
});

test("if all nodes are members nothing waits, and members without a Node stay members", () => {
  expect(new JoinBatch().admit(["a", "b", "c"], ["a", "b"], NODES, 0)).toEqual({ live: ["a", "b", "c"] });
  expect(new JoinBatch().admit(["a", "z"], ["z"], ["a"], 0)).toEqual({ live: ["a", "z"] });
});
