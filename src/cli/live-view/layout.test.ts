import { expect, test } from "vitest";
import { plain } from "../print/color.ts";
import type { Row } from "./object-table.ts";
import { frame, type ScreenModel } from "./layout.ts";

const now = Date.parse("2026-11-15T12:00:00Z");
const row = (name: string, more: Partial<Row> = {}): Row => ({
  kind: "L3VNI",
  namespace: "openperouter-system",
  name,
  conditions: [],
  since: "2026-11-15T11:55:00Z",
  source: () => ({ path: `${name}.yaml`, line: 3 }),
  ...more,
});

function drawn(picture: Partial<ScreenModel>, height = 24, colorize = plain): string[] {
  return frame({ head: ["HEAD"], rows: [], problems: [], changes: [], ...picture }, height, colorize, now);
}

/** Of the rows, and what stands below them as it is. */
const names = (lines: readonly string[]) => lines.slice(3).map((line) => line.split(/ {3,}/)[2] ?? line);

test("objects are shown with their conditions, and problems and changes below", () => {
  const node = row("n1", {
    kind: "RouterNodeConfigurationStatus",
    source: () => undefined,
    conditions: [
      { type: "Ready", status: "True" },
      { type: "Degraded", status: "False" },
    ],
  });
  expect(drawn({ rows: [row("red"), node], problems: ["a.yaml:3:1: vni is missing"], changes: ["12:00:00 L3VNI red added"] })).toEqual([
    "HEAD",
    "",
    "KIND                            NAMESPACE             NAME   SINCE   CONDITIONS                  FILE",
    "L3VNI                           openperouter-system   red    5m                                  red.yaml:3",
    "RouterNodeConfigurationStatus   openperouter-system   n1     5m      Ready=True Degraded=False",
    "",
    "Problems:",
    "  a.yaml:3:1: vni is missing",
    "",
    "Changes:",
    "  12:00:00 L3VNI red added",
  ]);
});

test("a condition is colored by whether its status is good", () => {
  const conditions = [
    { type: "Ready", status: "False" as const },
    { type: "Degraded", status: "Unknown" as const },
  ];
  expect(drawn({ rows: [row("n1", { conditions })] }, 24, (color, text) => `<${color}>${text}</>`)[3]).toMatch(
    / {3}<red>Ready=False<\/> <yellow>Degraded=Unknown<\/> {3}n1\.yaml:3$/,
  );
});

test("an empty directory says what to do", () => {
  expect(drawn({})).toEqual(["HEAD", "", "No objects yet: put manifests into the directory."]);
});

test("if not all objects fit, unhealthy and recently changed ones are shown", () => {
  const rows = Array.from({ length: 50 }, (_, at) => row(`v${String(at).padStart(2, "0")}`));
  rows[7] = row("v07", { conditions: [{ type: "Ready", status: "Unknown" }] });
  rows[30] = row("v30", { since: "2026-11-15T11:59:00Z" });
  const lines = drawn({ rows, problems: Array.from({ length: 9 }, (_, at) => `p${at}`) }, 15);
  expect(lines).toHaveLength(15);
  expect(lines.slice(3, 7).map((line) => line.split(/ {3,}/)[2])).toEqual(["v00", "v01", "v07", "v30"]);
  expect(lines.slice(7)).toEqual([
    "and 46 more: plumbline get plumbline -A",
    "",
    "Problems:",
    "  p0",
    "  p1",
    "  p2",
    "  p3",
    "  and 5 more",
  ]);
});

test("only failing connectivity checks have a row", () => {
  const check = (name: string, status: "True" | "False" | "Unknown") =>
    row(name, { kind: "PodNetworkConnectivityCheck", conditions: [{ type: "Reachable", status }] });
  const rows = [row("red"), check("a", "True"), check("b", "False"), check("c", "Unknown")];
  expect(names(drawn({ rows }))).toEqual(["red", "b", "and 2 more: plumbline get plumbline -A"]);
  expect(names(drawn({ rows: rows.slice(0, 1) }))).toEqual(["red"]);
});
