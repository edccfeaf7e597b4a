import { expect, test } from "vitest";
import { attemptAfter, failed, ok } from "../testing/attempts.ts";
import { statusOf } from "../history/status.ts";
import { check } from "../testing/mesh.ts";
import { restoreHistory } from "./recall.ts";

const published = (...attempts: Parameters<typeof attemptAfter>[0]) => check("c", { status: statusOf(attemptAfter(attempts)) });

test("whoever saw a result last knows where the check stands", () => {
  const memory = attemptAfter([ok(0), failed(60)]);
  expect(restoreHistory(memory, published(ok(0)), 70_000)).toEqual({ history: memory, isPublished: false, isNews: true });
  expect(restoreHistory(attemptAfter([ok(0)]), published(ok(0), failed(60)), 70_000)).toMatchObject({ isPublished: true, isNews: false });
  expect(restoreHistory(undefined, published(ok(0)), 70_000)).toMatchObject({ isPublished: true, isNews: false });
});

test("of two results in one second the source remembers both, and the API may show the first", () => {
  const memory = attemptAfter([ok(0), failed(0, "No route to host", { seq: 2, at: 400 })]);
  expect(restoreHistory(memory, published(ok(0)), 70_000)).toEqual({ history: memory, isPublished: false, isNews: true });
});
