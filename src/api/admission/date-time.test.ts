import { expect, test } from "vitest";
import { isDateTime } from "./schema-validation.ts";

test.each([
  ["2026-11-15T10:30:00Z", true],
  ["2026-11-15t10:30:00z", true],
  ["2026-11-15T10:30:00.123456Z", true],
  ["2026-11-15T10:30:00+01:00", true],
  ["2024-02-29T00:00:00Z", true],
  ["2026-11-15T10:30:00Zt", true],
  ["2026-02-29T00:00:00Z", false],
  ["2026-13-01T00:00:00Z", false],
  ["2026-11-15T24:00:00Z", false],
  ["2026-11-15T10:60:00Z", false],
  ["2026-11-15T10:30:60Z", false],
  ["2026-11-15T10:30:00", false],
  ["2026-11-15 10:30:00Z", false],
  ["26-11-15T10:30:00Z", false],
  ["2026-11-15", false],
  ["", false],
])("%j is a date-time: %s", (text, is) => {
  expect(isDateTime(text)).toBe(is);
});
