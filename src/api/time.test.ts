import { expect, test } from "vitest";
import { metaTime, microTime } from "./time.ts";

test("a MicroTime has exactly six fraction digits, whatever the milliseconds", () => {
  expect(microTime(new Date(Date.UTC(2026, 10, 15, 10, 30, 0)))).toBe("2026-11-15T10:30:00.000000Z");
  expect(microTime(new Date(Date.UTC(2026, 10, 15, 10, 30, 0, 7)))).toBe("2026-11-15T10:30:00.007000Z");
});

test("a Time has whole seconds, truncated and not rounded", () => {
  expect(metaTime(new Date(Date.UTC(2026, 10, 15, 10, 30, 0)))).toBe("2026-11-15T10:30:00Z");
  expect(metaTime(new Date(Date.UTC(2026, 10, 15, 10, 30, 0, 999)))).toBe("2026-11-15T10:30:00Z");
});
