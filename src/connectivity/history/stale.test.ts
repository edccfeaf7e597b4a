import { expect, test } from "vitest";
import type { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { check } from "../testing/mesh.ts";
import { type SourceObservation, type SourceLiveness, staleness } from "./stale.ts";

const minute = 60_000;
const result = { successes: [{ time: "2026-11-16T08:00:00Z", success: true }] };
const tried = check("a", { status: result });
const untried = check("a");
const saying = (status: "True" | "Unknown", reason: string) =>
  check("a", {
    status: { ...result, conditions: [{ type: "Reachable", status, reason, message: "", lastTransitionTime: "2026-11-16T08:00:00Z" }] },
  });

const silent: SourceLiveness = { is: "silent", since: new Date("2026-11-16T08:00:30.5Z") };
const since = "since 2026-11-16T08:00:30Z; the rest of this status is its last report";
const none: SourceLiveness = { is: "none" };

const mute = {
  message: "Source web is alive but has not reported this check: checker disabled or no access",
};

type Case = [string, PodNetworkConnectivityCheck, SourceLiveness, SourceObservation, number, ReturnType<typeof staleness>];

test.each<Case>([
  ["with a live source is not stale", tried, { is: "alive" }, { since: 0, heardAt: 80 * minute }, 99 * minute, { againMs: 11 * minute }],
  ["that is new and has a live source is not stale", untried, { is: "alive" }, { since: 0 }, 9 * minute, { againMs: 21 * minute }],
  ["without new results of its live source is stale", tried, { is: "alive" }, { since: 0, heardAt: 9 }, 30 * minute + 9, mute],
  ["that its live source never reported is stale", untried, { is: "alive" }, { since: 0 }, 30 * minute, mute],
  ["that cannot be probed needs no new results", saying("Unknown", "TargetRefused"), { is: "alive" }, { since: 0 }, 99 * minute, undefined],
  ["with a silent source is stale", tried, silent, { since: 0 }, 1, { message: `Source web has not reported ${since}` }],
  [
    "with Reachable=True and a silent source is stale",
    saying("True", "ConnectDone"),
    silent,
    { since: 0 },
    1,
    { message: expect.any(String) as string },
  ],
  ["that is already marked is left alone", saying("Unknown", "Stale"), silent, { since: 0 }, 1, undefined],
  ["that is retired is left alone", saying("Unknown", "Retired"), silent, { since: 0 }, 1, undefined],
  [
    "with a source fault becomes stale without a source",
    saying("Unknown", "InvalidTarget"),
    silent,
    { since: 0 },
    1,
    { message: expect.any(String) as string },
  ],
  [
    "with results from before its source became silent is stale",
    tried,
    silent,
    { since: 0, heardAt: 5 },
    6,
    { message: expect.any(String) as string },
  ],
  [
    "with a result after the mark has the timeout of one without a Lease",
    tried,
    silent,
    { since: 0, markedAt: 4, heardAt: 5 },
    6,
    { againMs: 13 * minute - 1 },
  ],
  [
    "with one result after the mark is marked again",
    tried,
    silent,
    { since: 0, markedAt: 4, heardAt: 5 },
    13 * minute + 5,
    { message: expect.any(String) as string },
  ],
  ["without a Lease and a result has three intervals", untried, none, { since: minute }, 3 * minute, { againMs: minute }],
  [
    "without a Lease and a result is stale after three intervals",
    untried,
    none,
    { since: minute },
    4 * minute,
    { message: "Check never ran: source web is not running, or has no checker" },
  ],
  [
    "without a Lease but with new results is not stale",
    tried,
    none,
    { since: 0, heardAt: 60 * minute },
    70 * minute,
    { againMs: 3 * minute },
  ],
  [
    "without a Lease and without new results is stale",
    tried,
    none,
    { since: 0, heardAt: 60 * minute },
    73 * minute,
    { message: "Source web has not reported since 2026-11-16T08:00:00Z; the rest of this status is its last report" },
  ],
  [
    "that was watched for a short time is not stale, however old its results are",
    tried,
    none,
    { since: 0 },
    12 * minute,
    { againMs: minute },
  ],
])("a check %s", (_what, object, sign, observation, now, verdict) => {
  expect(staleness(object, sign, observation, now)).toEqual(verdict);
});
