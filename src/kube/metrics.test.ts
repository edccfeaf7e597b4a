import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { metricsTable, registry } from "./metrics.ts";
import { collectProcessMetrics } from "./process-metrics.ts";

test("docs/metrics.md lists every metric as it is; ./plumbline generate writes it anew", async () => {
  expect(await readFile(join(import.meta.dirname, "../../docs/metrics.md"), "utf8")).toBe(metricsTable());
});

test("the process's own metrics can be asked for twice and stay out of the table", async () => {
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
  expect(metricsTable()).not.toContain("process_resident");
});

test("they are those of the process also while a test holds the time", async () => {
  collectProcessMetrics();
  vi.useFakeTimers();
  try {
    expect(await registry.metrics()).toMatch(/^nodejs_eventloop_utilization [0-9.e-]+$/m);
  } finally {
    vi.useRealTimers();
  }
});
