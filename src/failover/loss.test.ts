import { expect, test } from "vitest";
import { FailoverPolicy, type FailoverStatus } from "../api/failover/failover-policy.ts";
import { sameOfKind } from "../kube/status/plan.ts";
import { expectedLoss } from "./loss.ts";
import { plan } from "./plan.ts";
import { report } from "./report.ts";
import { FakeSite } from "./testing/fake-site.ts";
import { named, NOW, policy, volume } from "./testing/fixtures.ts";
import { copyOf } from "./token/peer-copy.ts";
import type { PeerView } from "./token/token.ts";

const spec = { peer: { kubeconfigSecret: { name: "other", key: "kubeconfig" } }, managedResources: named("VolumeReplication data") };
const COPIED = "2026-11-16T11:50:00Z";
const at = (minute: number) => new Date(NOW.getTime() + minute * 60_000);

function reported(before: FailoverStatus | undefined, peer: PeerView, minute: number): FailoverStatus {
  const given = policy(spec, before ? { status: before } : {});
  const observed = new FakeSite().put("VolumeReplication", volume("data", "secondary")).observe(given, { peer });
  return report(before, given, plan(observed), { failures: [], peer }, at(minute));
}

test("the last reported age of the copy is kept when the other site does not answer, and shows the loss of a force", () => {
  const answering: PeerView = { reachable: true, exists: true, desiredState: "primary", copy: { lastSyncTime: COPIED } };
  const alive = reported(undefined, answering, 0);
  expect(expectedLoss(policy(spec, { status: alive }), at(1))).toMatchObject({ known: true, seconds: 11 * 60 });
  const dead = reported(reported(alive, { reachable: false, message: "no route" }, 5), { reachable: false, message: "no route" }, 30);
  expect(dead.peer).toEqual({ reachable: false, message: "no route", lastSyncTime: COPIED, lastAnswerTime: "2026-11-16T12:00:00Z" });
  expect(expectedLoss(policy(spec, { status: dead }), at(30))).toEqual({
    known: true,
    copyTime: COPIED,
    until: "2026-11-16T12:00:00Z",
    seconds: 600,
    text: `The copy here was made at ${COPIED}, 600 s before the other site last answered, at 2026-11-16T12:00:00Z. What was written there after the copy is lost`,
  });
});

test.each([
  ["without a peer", policy({ managedResources: spec.managedResources }), "without spec.peer"],
  ["when the other site never reported it", policy(spec), "has never reported"],
])("the loss is reported as unknown %s", (_, given, text) => {
  expect(expectedLoss(given, NOW)).toEqual({ known: false, text: expect.stringContaining(text) });
});

test("the age of the copy is what the other site publishes of its oldest volume, and not what its volumes had at its last write", () => {
  const stale = { volumeReplicationStatuses: [{ name: "data", lastSyncTime: "2026-01-01T00:00:00Z" }] };
  expect(copyOf({ ...stale, lastSyncTime: COPIED })).toEqual({ copy: { lastSyncTime: COPIED } });
  expect(copyOf(stale)).toEqual({});
  expect(copyOf({ lastSyncTime: "yesterday" })).toEqual({});
  expect(copyOf(undefined)).toEqual({});
});

test.each([
  [["True", "True"], "True"],
  [["True", "Unknown"], "Unknown"],
  [["True", undefined], undefined],
  [[undefined, "False"], "False"],
] as const)("volumes that replicate as %j replicate as %s together", (states, expected) => {
  const volumeReplicationStatuses = states.map((replicating, at) => Object.assign({ name: `v${at}` }, replicating && { replicating }));
  expect(copyOf({ volumeReplicationStatuses }).copy?.replicating).toBe(expected);
});

/** What a primary publishes when csi-addons reports this time. */
function published(previous: FailoverStatus | undefined, lastSyncTime: string, maxCopyAge?: string): FailoverStatus {
  const given = policy({
    desiredState: "primary",
    managedResources: spec.managedResources,
    ...(maxCopyAge !== undefined && { maxCopyAge }),
  });
  const observed = new FakeSite().put("VolumeReplication", volume("data", "primary", { status: { lastSyncTime } })).observe(given);
  return report(previous, given, plan(observed), { failures: [] }, NOW);
}

const publishes = (previous: string | undefined, lastSyncTime: string, maxCopyAge?: string) =>
  published(previous === undefined ? undefined : { lastSyncTime: previous }, lastSyncTime, maxCopyAge).lastSyncTime;
const times = ({ volumeReplicationStatuses = [] }: FailoverStatus) => volumeReplicationStatuses.map(({ lastSyncTime }) => lastSyncTime);

test("a primary with maxCopyAge publishes the age of its copy in steps of a quarter of it, and without it not at all", () => {
  expect(publishes(undefined, COPIED, "20m")).toBe(COPIED);
  expect(publishes(COPIED, "2026-11-16T11:54:59Z", "20m")).toBe(COPIED);
  expect(publishes(COPIED, "2026-11-16T11:55:00Z", "20m")).toBe("2026-11-16T11:55:00Z");
  expect(publishes(COPIED, "2026-11-16T11:40:00Z", "20m")).toBe("2026-11-16T11:40:00Z");
  expect(publishes(COPIED, "2026-11-16T11:55:00Z")).toBeUndefined();
});

test("a copy at rest is no reason to write, and no volume has a time that is never written again", () => {
  const isSame = sameOfKind(FailoverPolicy);
  const [first, next] = ["2026-11-16T11:00:00Z", COPIED].map((time) => published(published(undefined, time), time));
  expect(isSame(first, next ?? {})).toBe(true);
  expect([first, next].map((status) => times(status ?? {}))).toEqual([[undefined], [undefined]]);

  const limited = published(undefined, COPIED, "20m");
  expect(isSame(limited, published(limited, "2026-11-16T11:54:59Z", "20m"))).toBe(true);
  const moved = published(limited, "2026-11-16T11:55:00Z", "20m");
  expect(isSame(limited, moved)).toBe(false);
  expect(times(moved)).toEqual(["2026-11-16T11:55:00Z"]);
});
