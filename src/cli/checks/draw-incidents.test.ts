import { expect, test } from "vitest";
import { incidentsOf } from "../../connectivity/analysis/incidents.ts";
import { outageWindows } from "../../connectivity/analysis/outage-window.ts";
import { ago, check, failing, restoredCheck, NOW, noZones } from "../../connectivity/testing/checks.ts";
import { plain } from "../print/color.ts";
import { drawIncidents } from "./draw-incidents.ts";

function drawn(...checks: ReturnType<typeof check>[]): string[] {
  const outages = checks.flatMap((one) => outageWindows(one, noZones, NOW));
  return drawIncidents(incidentsOf(outages), NOW, plain).map((line) => line.replaceAll(/ {3,}/g, " | "));
}

const [a, b] = ["10.0.0.1:80", "10.0.0.2:80"];

test("an outage is listed with its narrowest bounds and its overlaps", () => {
  const bounds = { startedAfter: ago(61), endedAfter: ago(41) };
  expect(
    drawn(check("one", a, restoredCheck(a, ago(60), ago(40), bounds)), check("two", b, failing(b, ago(50), { startedAfter: ago(51) }))),
  ).toEqual([
    "# | BROKE | RESTORED | LASTED | WHAT | FROM | WHY | OVERLAPS",
    "1 | 2026-11-16T11:09:00Z to 11:10:00Z | still open | 50m so far | 10.0.0.2:80 | pod shop/two | Connection refused | 2",
    "2 | 2026-11-16T10:59:00Z to 11:00:00Z | 2026-11-16T11:19:00Z to 11:20:00Z | 19m to 21m | 10.0.0.1:80 | pod shop/one | ConnectError | 1",
  ]);
});

test("unknown bounds are shown as unknown", () => {
  expect(drawn(check("one", a, restoredCheck(a, ago(60), ago(40))), check("two", b, failing(b, ago(90), { time: ago(45) })))).toEqual([
    "# | BROKE | RESTORED | LASTED | WHAT | FROM | WHY | OVERLAPS",
    "1 | by 2026-11-16T11:00:00Z | 2026-11-16T11:00:00Z to 11:20:00Z | at least 0s | 10.0.0.1:80 | pod shop/one | ConnectError | 2",
    "2 | by 2026-11-16T10:30:00Z | no report since 2026-11-16T11:15:00Z | at least 45m | 10.0.0.2:80 | pod shop/two | Connection refused | 1",
  ]);
});

test("many sources and targets of one incident are one line", () => {
  const all = ["s10", "s9", "s8", "s7"].flatMap((source) => [a, b].map((to) => check(source, to, failing(to, ago(3)))));
  expect(drawn(...all)[1]).toBe(
    "1 | by 2026-11-16T11:57:00Z | still open | 3m so far | 10.0.0.1:80 and 10.0.0.2:80 | pod shop/s7, pod shop/s8 and 2 more | Connection refused",
  );
});
