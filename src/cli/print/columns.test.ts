import { expect, test } from "vitest";
import { Columns } from "./columns.ts";
import { plain } from "./color.ts";

test("a cell cannot contain control characters or line breaks", () => {
  const rows = [
    [{ text: "a\u001b[2J" }, { text: "b" }],
    [{ text: "c\nd" }, { text: "\u009b" }],
  ];
  expect(new Columns(plain).lines(rows)).toEqual(["a^[[2J   b", "c...     ?"]);
});
