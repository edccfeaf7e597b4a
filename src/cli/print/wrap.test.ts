import { expect, test } from "vitest";
import { wrapLine } from "./wrap.ts";

test.for<[string, string[]]>([
  ["short", ["short"]],
  ["  waits: one two three", ["  waits: one", "    two three"]],
  ["areallylongword and more", ["areallylongword", "  and more"]],
  ["\u001b[31ma painted line of any length\u001b[39m", ["\u001b[31ma painted line of any length\u001b[39m"]],
])("%j in 14 columns is %j", ([line, lines]) => {
  expect(wrapLine(line, 14)).toEqual(lines);
});
