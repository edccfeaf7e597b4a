import * as fc from "fast-check";
import { expect, test } from "vitest";
import { commonCauses } from "./common-cause.ts";
import { type Incident, incidentsOf, overlap } from "./incidents.ts";
import { resultOf } from "./check-result.ts";
import { resultsDuring, outageWindows } from "./outage-window.ts";
import { ago, check, failing, restoredCheck, NOW, noZones, reachableCheck } from "../testing/checks.ts";

type Check = ReturnType<typeof check>;

const withOutages = (checks: readonly Check[]) =>
  checks.map((one) => ({ check: one, result: resultOf(one, noZones, NOW), outages: outageWindows(one, noZones, NOW) }));
const incidents = (checks: readonly Check[]) => incidentsOf(withOutages(checks).flatMap(({ outages }) => outages));
const time = (at: number | undefined) => at && new Date(at).toISOString().slice(11, 19);
const printed = ({ outages, brokenAfter, brokenBy, restoredAfter, restoredBy, state }: Incident) =>
  `${outages.length} broke ${time(brokenAfter) ?? "?"}-${time(brokenBy)}, ${state} ${time(restoredAfter)}-${time(restoredBy) ?? "?"}`;

test("outages that may have started together are one incident, and each source narrows down its start", () => {
  const one = check("a", "10.0.0.1:80", failing("10.0.0.1:80", ago(9, 10), { startedAfter: ago(10, 10) }));
  const other = check("b", "10.0.0.1:80", failing("10.0.0.1:80", ago(8, 50), { startedAfter: ago(9, 50), time: ago(0, 50) }));
  const later = check("c", "10.0.0.1:80", failing("10.0.0.1:80", ago(5), { startedAfter: ago(6) }));
  expect(incidents([one, other, later]).map(printed)).toEqual([
    "1 broke 11:54:00-11:55:00, open 11:59:00-?",
    "2 broke 11:50:10-11:50:50, open 11:59:10-?",
  ]);
});

test("outages that started together and ended apart are two incidents", () => {
  const bounds = { startedAfter: ago(61), endedAfter: ago(41) };
  const early = check("a", "10.0.0.1:80", restoredCheck("10.0.0.1:80", ago(60), ago(40), bounds));
  const late = check("b", "10.0.0.1:80", restoredCheck("10.0.0.1:80", ago(60), ago(20), { ...bounds, endedAfter: ago(21) }));
  const found = incidents([early, late]);
  expect(found.map(printed)).toEqual([
    "1 broke 10:59:00-11:00:00, over 11:19:00-11:20:00",
    "1 broke 10:59:00-11:00:00, over 11:39:00-11:40:00",
  ]);
  expect(found[0] && found[1] && overlap(found[0], found[1])).toBe(true);
});

test("successive incidents do not overlap", () => {
  const [last, first] = incidents([
    check("a", "10.0.0.1:80", restoredCheck("10.0.0.1:80", ago(60), ago(40))),
    check("b", "10.0.0.1:80", failing("10.0.0.1:80", ago(40))),
  ]);
  expect(last && first && overlap(last, first)).toBe(false);
});

test("an outage whose source stopped reporting is neither open nor over", () => {
  const [silent] = incidents([check("a", "10.0.0.1:80", failing("10.0.0.1:80", ago(90), { time: ago(45) }))]);
  expect(silent && printed(silent)).toBe("1 broke ?-10:30:00, unknown 11:15:00-?");
  const [retired] = incidents([check("a", "10.0.0.1:80", failing("10.0.0.1:80", ago(90)), { "plumbline.dev/retired": ago(5) })]);
  expect(retired?.state).toBe("unknown");
});

test("the common cause of an incident comes from the results of all checks at that time", () => {
  const checks = [
    check("a", "10.0.0.1:80", restoredCheck("10.0.0.1:80", ago(60), ago(40))),
    check("b", "10.0.0.1:80", restoredCheck("10.0.0.1:80", ago(60, 20), ago(40, 20))),
    check("a", "10.0.0.2:80", reachableCheck("10.0.0.2:80")),
    check("b", "10.0.0.2:80", failing("10.0.0.2:80", ago(5))),
  ];
  const all = withOutages(checks);
  const sentences = incidents(checks).map((incident) => commonCauses(resultsDuring(all, incident)).map(({ sentence }) => sentence));
  expect(sentences).toEqual([
    [
      "Pod shop/b does not reach 10.0.0.2:80: the one check fails (Connection refused), while it reaches 1 other target and 1 other source reaches this one",
    ],
    ["10.0.0.1:80 is unreachable: both checks fail, from 2 sources (ConnectError), while all of these sources reach other targets"],
  ]);
});

const at = (second: number) => ago(0, 3600 - second);

test("every outage is in one incident, whose bounds hold for each of its outages", () => {
  const outage = fc.record({
    start: fc.integer({ min: 30, max: 400 }),
    before: fc.integer({ min: 0, max: 90 }),
    lasts: fc.integer({ min: 1, max: 300 }),
  });
  fc.assert(
    fc.property(fc.array(outage, { maxLength: 30 }), (list) => {
      const checks = list.map(({ start, before, lasts }, nth) =>
        check(
          `s${nth}`,
          "10.0.0.1:80",
          restoredCheck("10.0.0.1:80", at(start), at(start + lasts), {
            startedAfter: at(start - before),
            endedAfter: at(start + lasts - 1),
          }),
        ),
      );
      const found = incidents(checks);
      expect(found.flatMap(({ outages }) => outages.map(({ result }) => result.check)).toSorted()).toEqual(
        checks.map(({ metadata }) => `shop/${metadata.name}`).toSorted(),
      );
      for (const { outages, brokenAfter = -Infinity, brokenBy, restoredAfter, restoredBy = Infinity } of found) {
        expect(brokenAfter).toBeLessThanOrEqual(brokenBy);
        expect(restoredAfter).toBeLessThanOrEqual(restoredBy);
        for (const one of outages) expect(one.brokenBy).toBeGreaterThanOrEqual(brokenBy);
      }
    }),
    { seed: 7, numRuns: 200 },
  );
});

test("a check that was not probed during an incident does not count as working", () => {
  const forbidden = { type: "Reachable", status: "Unknown", reason: "TargetRefused", message: "A loopback address" } as const;
  const silent = { type: "Reachable", status: "Unknown", reason: "Stale", message: "Source web has not reported" } as const;
  const { successes = [] } = reachableCheck("10.0.0.3:80", ago(30));
  const all = withOutages([
    check("a", "10.0.0.1:80", failing("10.0.0.1:80", ago(9))),
    check("a", "127.0.0.1:80", { conditions: [{ ...forbidden, lastTransitionTime: ago(5) }] }),
    check("b", "10.0.0.2:80", {}),
    check("b", "10.0.0.3:80", { successes, conditions: [{ ...silent, lastTransitionTime: ago(20) }] }),
    check("b", "10.0.0.4:80", { ...reachableCheck("10.0.0.4:80", ago(3)), conditions: [{ ...silent, lastTransitionTime: ago(2) }] }),
  ]);
  const [incident] = incidentsOf(all.flatMap(({ outages }) => outages));
  const verdicts = incident && resultsDuring(all, incident).map(({ verdict }) => verdict);
  expect(verdicts).toEqual(["failed", "unknown", "unknown", "unknown", "reached"]);
});
