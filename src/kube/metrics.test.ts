import { expect, test, vi } from "vitest";
import { registry } from "./metrics.ts";
import { collectProcessMetrics } from "./process-metrics.ts";

test("process metrics can be collected twice", async () => {
  collectProcessMetrics();
  collectProcessMetrics();
  const text = await registry.metrics();
  for (const name of ["process_resident_memory_bytes", "process_open_fds", "nodejs_gc_duration_seconds"]) {
    expect(text).toContain(name);
  }
  const utilization = Number(/^nodejs_eventloop_utilization (\S+)$/m.exec(text)?.[1]);
  expect(utilization).toBeGreaterThan(0);
  expect(utilization).toBeLessThanOrEqual(1);
  expect(Number(/^process_cpu_seconds_total (\S+)$/m.exec(text)?.[1])).toBeGreaterThan(0);
});

test("process metrics do not depend on fake timers", async () => {
  collectProcessMetrics();
  vi.useFakeTimers();
  try {
    expect(await registry.metrics()).toMatch(/^nodejs_eventloop_utilization [0-9.e-]+$/m);
  } finally {
    vi.useRealTimers();
  }
});
