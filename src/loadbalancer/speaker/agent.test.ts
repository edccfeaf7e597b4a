import { expect, test } from "vitest";
import { LastKnown } from "./agent.ts";

test("the last value stays until a new one arrives", () => {
  let says: string | undefined;
  const last = new LastKnown(() => says);
  expect(last.value).toBeUndefined();
  says = "one";
  expect(last.value).toBe("one");
  says = undefined;
  expect(last.value).toBe("one");
  says = "other";
  expect(last.value).toBe("other");
});
