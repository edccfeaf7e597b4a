import { expect, test } from "vitest";
import { attemptAfter, failed, ok } from "../testing/attempts.ts";
import { statusOf } from "../history/status.ts";
import { STATUS_RULES } from "./status-rules.ts";

const shown = (...attempts: Parameters<typeof attemptAfter>[0]) => statusOf(attemptAfter(attempts));

test.each([
  ["the first failure", shown(ok(0)), shown(ok(0), failed(60)), true],
  ["the end of an outage", shown(ok(0), failed(60)), shown(ok(0), failed(60), ok(120)), true],
  ["another way to fail", shown(failed(0)), shown(failed(0), failed(60, "Connection refused")), true],
  ["an outage that began and ended meanwhile", shown(ok(0)), shown(ok(0), failed(60), ok(120)), true],
  ["one more success", shown(ok(0)), shown(ok(0), ok(60)), false],
  ["one more failure of the same kind", shown(failed(0)), shown(failed(0), failed(60)), false],
])("%s: whether it goes before refreshes", (_what, existing, next, isNews) => {
  expect(STATUS_RULES.transition(existing, next)).toBe(isNews);
});
