import { expect, test } from "vitest";
import { checkpointMark } from "../marks.ts";
import { checkpointMs, isCheckpointBetween } from "./checkpoint.ts";

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
])("with the annotation %j and %i checks, the API is at most %i ms behind", (annotation, checks, expected) => {
  const annotations = annotation === undefined ? {} : { [checkpointMark]: annotation };
  const check = { apiVersion: "", kind: "", metadata: { name: "c", annotations }, spec: { targetEndpoint: "10.0.0.1:80" } };
  expect(checkpointMs(check, checks)).toBe(expected);
});

test("checks that were written together are refreshed one after the other", () => {
  const due = Array.from({ length: 10 }, (_, n) => {
    for (let at = 1; ; at++) if (isCheckpointBetween(0, at * 1000, 600_000, n / 10)) return at;
  });
  expect(due).toEqual([600, 540, 480, 420, 360, 300, 240, 180, 120, 60]);
});
