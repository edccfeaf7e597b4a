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
  ["whose source lives is not stale", tried, { is: "alive" }, { since: 0, heardAt: 80 * minute }, 99 * minute, { againMs: 11 * minute }],
  ["that is new and whose source lives is not stale", untried, { is: "alive" }, { since: 0 }, 9 * minute, { againMs: 21 * minute }],
  ["of which a living source says nothing any more is stale", tried, { is: "alive" }, { since: 0, heardAt: 9 }, 30 * minute + 9, mute],
  ["of which a living source never says anything is stale", untried, { is: "alive" }, { since: 0 }, 30 * minute, mute],
  [
    "that cannot be tried need not be told of again",
    saying("Unknown", "TargetRefused"),
    { is: "alive" },
    { since: 0 },
    99 * minute,
    undefined,
  ],
  ["whose source is silent is stale", tried, silent, { since: 0 }, 1, { message: `Source web has not reported ${since}` }],
  [
    "that says it is reachable is stale all the same",
    saying("True", "ConnectDone"),
    silent,
    { since: 0 },
    1,
    { message: expect.any(String) as string },
  ],
  ["that is marked already is left alone", saying("Unknown", "Stale"), silent, { since: 0 }, 1, undefined],
  ["that was retired is left alone", saying("Unknown", "Retired"), silent, { since: 0 }, 1, undefined],
  [
    "that nobody could try is stale when nobody tries it",
    saying("Unknown", "InvalidTarget"),
    silent,
    { since: 0 },
    1,
    { message: expect.any(String) as string },
  ],
  [
    "that was heard before its source fell silent is stale",
    tried,
    silent,
    { since: 0, heardAt: 5 },
    6,
    { message: expect.any(String) as string },
  ],
  [
    "that spoke after it was marked is given the time of one without Lease",
    tried,
    silent,
    { since: 0, markedAt: 4, heardAt: 5 },
    6,
    { againMs: 13 * minute - 1 },
  ],
  [
    "that spoke after it was marked and not again is marked again",
    tried,
    silent,
    { since: 0, markedAt: 4, heardAt: 5 },
    13 * minute + 5,
    { message: expect.any(String) as string },
  ],
  ["without Lease and result has three intervals", untried, none, { since: minute }, 3 * minute, { againMs: minute }],
  [
    "without Lease and result is stale after three intervals",
    untried,
    none,
    { since: minute },
    4 * minute,
    { message: "Check never ran: source web is not running, or has no checker" },
  ],
  [
    "without Lease whose results keep coming is not stale",
    tried,
    none,
    { since: 0, heardAt: 60 * minute },
    70 * minute,
    { againMs: 3 * minute },
  ],
  [
    "without Lease whose results stopped is stale",
    tried,
    none,
    { since: 0, heardAt: 60 * minute },
    73 * minute,
    { message: "Source web has not reported since 2026-11-16T08:00:00Z; the rest of this status is its last report" },
  ],
  ["that was not watched for long is not stale, however old its results are", tried, none, { since: 0 }, 12 * minute, { againMs: minute }],
])("a check %s", (_what, object, sign, observation, now, verdict) => {
  expect(staleness(object, sign, observation, now)).toEqual(verdict);
});
