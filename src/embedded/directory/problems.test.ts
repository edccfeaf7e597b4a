import { expect, test } from "vitest";
import { ProblemList, problemText, type Problem } from "./problems.ts";

const problem = (path: string, line: number, message: string): Problem => ({ path, line, column: 1, level: "error", message });

test("problems are listed in the order of files and lines", () => {
  const list = new ProblemList();
  list.set("b.yaml", [problem("b.yaml", 9, "two"), problem("b.yaml", 2, "one")]);
  list.set("a.yaml", [{ path: "a.yaml", level: "warning", message: "whole file" }]);
  expect(list.list().map(problemText)).toEqual(["a.yaml: whole file", "b.yaml:2:1: one", "b.yaml:9:1: two"]);
});

test("listeners get added and removed problems, and nothing without a change", () => {
  const list = new ProblemList();
  const reported: string[] = [];
  const end = list.subscribe(({ appeared, resolved }) =>
    reported.push([...appeared.map(({ message }) => `+${message}`), ...resolved.map(({ message }) => `-${message}`)].join(" ")),
  );
  list.set("a.yaml", [problem("a.yaml", 1, "one"), problem("a.yaml", 2, "two")]);
  list.set("a.yaml", [problem("a.yaml", 1, "one"), problem("a.yaml", 2, "two")]);
  list.set("b.yaml", []);
  list.set("a.yaml", [problem("a.yaml", 2, "two"), problem("a.yaml", 3, "three")]);
  list.set("a.yaml", []);
  end();
  list.set("a.yaml", [problem("a.yaml", 1, "unheard")]);
  expect(reported).toEqual(["+one +two", "+three -one", "-two -three"]);
});
