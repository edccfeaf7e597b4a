import { afterEach, beforeEach, expect, test } from "vitest";
import { limitTime } from "./deadline.ts";
import { sleep, untilAborted } from "./sleep.ts";

const stop = new Error("stop");
const unhandled: unknown[] = [];
const record = (reason: unknown) => unhandled.push(reason);

beforeEach(() => {
  unhandled.length = 0;
  process.on("unhandledRejection", record);
});

afterEach(() => process.off("unhandledRejection", record));

test("work that starts with an aborted signal and fails later does not end the process", async () => {
  const over = new AbortController();
  const call = untilAborted(sleep(60_000, over.signal), AbortSignal.abort(stop)).finally(() => over.abort(new Error("over")));
  await expect(call).rejects.toBe(stop);
  await sleep(0);
  expect(unhandled).toEqual([]);
});

test("work that aborts its own signal and fails does not end the process", async () => {
  const stopping = new AbortController();
  const call = limitTime({ ms: 60_000, late: () => new Error("late"), signal: stopping.signal }, () => {
    stopping.abort(stop);
    return Promise.reject(new Error("failed"));
  });
  await expect(call).rejects.toBe(stop);
  await sleep(0);
  expect(unhandled).toEqual([]);
});

test("work that fails after its signal aborted does not end the process", async () => {
  const stopping = new AbortController();
  const over = new AbortController();
  const call = untilAborted(sleep(60_000, over.signal), stopping.signal).finally(() => over.abort(new Error("over")));
  stopping.abort(stop);
  await expect(call).rejects.toBe(stop);
  await sleep(0);
  expect(unhandled).toEqual([]);
});
