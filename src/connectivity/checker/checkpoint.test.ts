import { expect, test } from "vitest";
import { checkpointAnnotation } from "../../api/annotations.ts";
import { checkpointMs } from "./checkpoint.ts";

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
])("with the annotation %j and %i checks, nothing new is written after %i ms", (annotation, checks, expected) => {
  const annotations = annotation === undefined ? {} : { [checkpointAnnotation]: annotation };
  const check = { apiVersion: "", kind: "", metadata: { name: "c", annotations }, spec: { targetEndpoint: "10.0.0.1:80" } };
  expect(checkpointMs(check, checks)).toBe(expected);
});
