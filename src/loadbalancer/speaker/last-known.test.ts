import { expect, test } from "vitest";
import { LastTold } from "./last-known.ts";

test("what was told holds until something else is told", () => {
  let says: string | undefined;
  const told = new LastTold(() => says);
  expect(told.value).toBeUndefined();
  says = "one";
  expect(told.value).toBe("one");
  says = undefined;
  expect(told.value).toBe("one");
  says = "other";
  expect(told.value).toBe("other");
});
