import { expect, test } from "vitest";
import { LastKnown } from "./last-known.ts";

test("the last value stays until a new one arrives", () => {
  let says: string | undefined;
  const told = new LastKnown(() => says);
  expect(told.value).toBeUndefined();
  says = "one";
  expect(told.value).toBe("one");
  says = undefined;
  expect(told.value).toBe("one");
  says = "other";
  expect(told.value).toBe("other");
});
