import { expect, test } from "vitest";
import { attemptAfter, failed, ok } from "../testing/attempts.ts";
import { statusOf } from "../history/status.ts";
import { STATUS_RULES } from "./status-rules.ts";

const published = (...attempts: Parameters<typeof attemptAfter>[0]) => statusOf(attemptAfter(attempts));

test.each([
  ["the first failure", published(ok(0)), published(ok(0), failed(60)), true],
  ["the end of an outage", published(ok(0), failed(60)), published(ok(0), failed(60), ok(120)), true],
  ["another way to fail", published(failed(0)), published(failed(0), failed(60, "Connection refused")), true],
  ["an outage that began and ended meanwhile", published(ok(0)), published(ok(0), failed(60), ok(120)), true],
  ["one more success", published(ok(0)), published(ok(0), ok(60)), false],
  ["one more failure of the same kind", published(failed(0)), published(failed(0), failed(60)), false],
])("%s: whether it goes before refreshes", (_what, existing, next, isNews) => {
  expect(STATUS_RULES.transition(existing, next)).toBe(isNews);
});
