import { expect, test } from "vitest";
import { attemptAfter, failed, ok } from "../testing/attempts.ts";
import { statusOf } from "../history/status.ts";
import { STATUS_RULES, checkpointMs } from "./status-rules.ts";
import { checkpointAnnotation } from "../../api/annotations.ts";

const published = (...attempts: Parameters<typeof attemptAfter>[0]) => statusOf(attemptAfter(attempts));

test.each([
  ["the first failure", published(ok(0)), published(ok(0), failed(60)), true],
  ["the end of an outage", published(ok(0), failed(60)), published(ok(0), failed(60), ok(120)), true],
  ["another way to fail", published(failed(0)), published(failed(0), failed(60, "Connection refused")), true],
  ["an outage that began and ended meanwhile", published(ok(0)), published(ok(0), failed(60), ok(120)), true],
  ["one more success", published(ok(0)), published(ok(0), ok(60)), false],
  ["one more failure of the same kind", published(failed(0)), published(failed(0), failed(60)), false],
])("%s: whether it is written before refreshes", (_what, existing, next, isNews) => {
  expect(STATUS_RULES.transition(existing, next)).toBe(isNews);
});

test.each([
  [undefined, 1, 60_000],
  [undefined, 300, 60_000],
  [undefined, 1_000, 200_000],
  [undefined, 50_000, 600_000],
  ["240", 1, 240_000],
  ["1", 1, 60_000],
  ["86400", 1, 600_000],
  ["often", 1_000, 200_000],
  ["", 1_000, 60_000],
])("with annotation %j and %i checks, an unchanged status is written after %i ms", (annotation, checks, expected) => {
  const annotations = annotation === undefined ? {} : { [checkpointAnnotation]: annotation };
  const check = { apiVersion: "", kind: "", metadata: { name: "c", annotations }, spec: { targetEndpoint: "10.0.0.1:80" } };
  expect(checkpointMs(check, checks)).toBe(expected);
});
