import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { collectProcessMetrics } from "../src/kube/process-metrics.ts";
import { metricsTable } from "./metrics-table.ts";

test("docs/metrics.md lists every metric; ./plumbline generate writes it", async () => {
  expect(await readFile(join(import.meta.dirname, "../docs/metrics.md"), "utf8")).toBe(await metricsTable());
});

test("process metrics are not in the table", async () => {
  collectProcessMetrics();
  expect(await metricsTable()).not.toContain("process_resident");
});
