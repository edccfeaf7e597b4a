import { expect, test } from "vitest";
import { truncate, truncateLine, truncateList } from "./limits.ts";

test("if not all entries fit, the important ones stay in their order", () => {
  const entries = ["fine 1", "bad 1", "fine 2", "bad 2"];
  expect(truncateList(entries, 1_000)).toEqual(entries);
  expect(truncateList(entries, 28, (entry) => entry.startsWith("bad"))).toEqual(["fine 1", "bad 1", "bad 2"]);
});

test("a text is cut by characters and marked as cut", () => {
  expect(truncate("🙂🙂🙂", 3)).toBe("🙂🙂🙂");
  expect(truncate("🙂🙂🙂🙂", 3)).toBe("🙂🙂…");
  expect(truncate("cause \ncontext", 100)).toBe("cause \ncontext");
  expect(truncateLine("cause \ncontext\n", 100)).toBe("cause context");
});
