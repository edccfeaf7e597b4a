import { expect, test } from "vitest";
import { itemsLine, itemsText } from "./items.ts";

test("JSON output escapes every control character, and means the same", () => {
  const items = [{ text: "\u001b[2J\u007f\u009b31m\u0085\n", "\u009bkey": 1 }];
  for (const text of [itemsText("List", items), itemsLine("List", items)]) {
    expect(text).not.toMatch(/[^\P{Cc}\n]/u);
    expect(JSON.parse(text)).toMatchObject({ items });
  }
});
