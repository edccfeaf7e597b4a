import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { collectProcessMetrics, metricsTable, registry } from "./metrics.ts";

test("docs/metrics.md lists every metric as it is; ./plumbline generate writes it anew", async () => {
  expect(await readFile(join(import.meta.dirname, "../../docs/metrics.md"), "utf8")).toBe(metricsTable());
});

test("the process's own metrics can be asked for twice and stay out of the table", async () => {
  collectProcessMetrics();
  collectProcessMetrics();
  expect(await registry.metrics()).toContain("process_resident_memory_bytes");
  expect(metricsTable()).not.toContain("process_resident");
});
