import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { collectProcessMetrics } from "../src/kube/process-metrics.ts";
import { metricsTable } from "./metrics-table.ts";

test("docs/metrics.md lists every metric as it is; ./plumbline generate writes it anew", async () => {
  expect(await readFile(join(import.meta.dirname, "../docs/metrics.md"), "utf8")).toBe(metricsTable());
});

test("the process's own metrics stay out of the table", () => {
  collectProcessMetrics();
  expect(metricsTable()).not.toContain("process_resident");
});

test("every room that has metrics is in the table", async () => {
  const rooms = await Array.fromAsync(glob("src/*/metrics.ts", { cwd: join(import.meta.dirname, "..") }));
  const table = await readFile(join(import.meta.dirname, "metrics-table.ts"), "utf8");
  expect(rooms.filter((room) => !table.includes(`"../${room}"`))).toEqual([]);
});
