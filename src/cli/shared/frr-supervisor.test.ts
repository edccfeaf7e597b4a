import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FrrError } from "../../frr/error.ts";
import type { FrrInstance } from "../../frr/instance.ts";
import { aborted } from "../../util/deadline.ts";
import { createLog } from "../../kube/log.ts";
import { ManagedFrr } from "./frr-supervisor.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** An FRR that does not start so many times. */
function harness(failures: number) {
  const starts: number[] = [];
  const instance = {
    name: "test",
    start: () => {
      starts.push(Date.now());
      return starts.length <= failures ? Promise.reject(new FrrError("NotStarted", `attempt ${starts.length}`)) : Promise.resolve();
    },
    supervise: (signal: AbortSignal) => aborted(signal),
  } as unknown as FrrInstance;
  const stop = new AbortController();
  const frr = new ManagedFrr({ instance, log: createLog({ level: "silent" }) });
  return { frr, starts, stop, ended: frr.run(stop.signal) };
}

test("FRR is started on first use, and callers wait for it", async () => {
  const { frr, starts, stop, ended } = harness(0);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(starts).toEqual([]);
  await frr.up();
  await frr.up();
  expect(starts).toHaveLength(1);
  stop.abort();
  await ended;
});

test("an FRR that does not start is retried with backoff, and callers get the reason", async () => {
  const { frr, starts, stop, ended } = harness(4);
  await expect(frr.up()).rejects.toThrow("attempt 1");
  await vi.advanceTimersByTimeAsync(600_000);
  await frr.up();
  expect(starts).toHaveLength(5);
  const waits = starts.slice(1).map((at, index) => at - (starts[index] ?? 0));
  expect(waits.at(-1)).toBeGreaterThan((waits[0] ?? 0) * 2);
  stop.abort();
  await ended;
});

test("callers do not wait for FRR after the stop", async () => {
  const { frr, stop, ended } = harness(0);
  stop.abort();
  await ended;
  await expect(frr.up()).rejects.toThrow(/abort/i);
});
