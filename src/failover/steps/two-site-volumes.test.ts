import { describe, expect, test } from "vitest";
import type { Role } from "../../api/failover/failover-policy.ts";
import { plan, tokenFacts } from "../plan.ts";
import { FakeSite } from "../testing/fake-site.ts";
import { writeTexts } from "../testing/harness.ts";
import { named, policy, volume, VOLUME_CONDITIONS } from "../testing/fixtures.ts";
import { decideToken } from "../token/token.ts";

const standby = () => new FakeSite().put("VolumeReplication", volume("data", "secondary", { conditions: [...VOLUME_CONDITIONS.syncing] }));
const wanted = (spec: object = {}) =>
  policy({ desiredState: "primary", managedResources: named("VolumeReplication data"), ...spec }, { uid: "here" });
const peerWith = (volumes: string[]) => ({
  peer: {
    reachable: true,
    exists: true,
    desiredState: "secondary",
    volumes,
    token: { epoch: 2, state: "Released", copied: true },
  } as const,
});
const twoVolumes = () => new FakeSite().put("VolumeReplication", volume("data", "secondary"), volume("logs", "secondary"));
const orphan = (desiredState: Role, token: object, annotations: Record<string, string> = {}) =>
  policy(
    { desiredState, managedResources: named("VolumeReplication data") },
    { uid: "here", annotations, status: { token: { epoch: 6, ...token } as never } },
  );
const forget = (uid: string, epoch: number) => ({
  "plumbline.dev/failover-forget-peer": JSON.stringify({ uid, epoch, reason: "the other site was sold" }),
});

describe("a volume that is being copied to", () => {
  const promotion = ["promote VolumeReplication shop/data"];

  test("is not promoted in safe mode without a peer: the other site is primary", () => {
    const result = plan(standby().observe(wanted()));
    expect(writeTexts(result)).toEqual([]);
    expect(result.steps.find(({ name }) => name === "PromoteVolumes")?.waits.map(({ message }) => message)).toEqual([
      "VolumeReplication data is resyncing (Resyncing is True): the other site is primary, or its last writes are still being copied; make it secondary there, or set spec.force if the other site has stopped writing",
    ]);
  });

  test("is promoted by force for this policy object, and in unsafe mode", () => {
    const forced = plan(standby().observe(wanted({ force: { reason: "fire", epoch: 0, uid: "here" } })));
    expect(writeTexts(forced)).toEqual(promotion);
    expect(forced.forced).toBe("fire");
    expect(writeTexts(plan(standby().observe(wanted({ mode: "off" }))))).toEqual(promotion);
    const stale = plan(standby().observe(wanted({ force: { reason: "fire", epoch: 0, uid: "of an earlier object" } })));
    expect(writeTexts(stale)).toEqual([]);
    expect(stale.failures.map(({ reason, field }) => `${reason} ${field}`)).toEqual(["Invalid spec.force.uid"]);
  });
});

test("a force without a token counts for one takeover: the next one needs a new force", () => {
  const times = { startTime: "2026-11-16T10:00:00Z", completionTime: "2026-11-16T10:01:00Z" };
  const past = { to: "primary" as const, mode: "safe" as const, generation: 1, ...times, forced: "fire", outcome: "Completed" as const };
  const again = (reason: string) => {
    const forced = wanted({ force: { reason, epoch: 0, uid: "here" } });
    return plan(standby().observe({ ...forced, status: { history: [past] } }));
  };
  const spent = again("fire");
  expect(writeTexts(spent)).toEqual([]);
  expect(spent.steps[0]?.waits[0]?.message).toMatch(/give spec.force a new reason if the other site has stopped writing/);
  expect(writeTexts(again("flood"))).toEqual(["promote VolumeReplication shop/data"]);
});

describe("the volumes that the two policies name", () => {
  const secret = { kubeconfigSecret: { name: "peer", key: "kubeconfig" } };
  const holder = (status: object = {}, uid = "here") =>
    policy(
      { desiredState: "primary", peer: secret, managedResources: named("VolumeReplication data", "VolumeReplication logs") },
      { uid, status: { token: { epoch: 3, state: "Held", ...status } } },
    );
  const mayWrite = { mayWrite: true, mustDemote: false, waits: [] };
  const both = ["VolumeReplication data", "VolumeReplication logs"];

  test("are promoted if both name the same", () => {
    expect(writeTexts(plan(twoVolumes().observe(holder(), peerWith(both)), mayWrite))).toHaveLength(2);
  });

  test.each([
    ["here alone", ["VolumeReplication data"], "The policy at the other site does not name VolumeReplication logs; name it there first"],
    [
      "there alone",
      [...both, "VolumeReplication extra"],
      "The policy at the other site names VolumeReplication extra, and this one does not; name it here too",
    ],
  ])("are not promoted if one is named %s", (_, volumes, message) => {
    const observed = twoVolumes().observe(holder(), peerWith(volumes));
    const result = plan(observed, mayWrite);
    expect(writeTexts(result)).toEqual([]);
    expect(result.failures.map(({ reason, message: text }) => `${reason}: ${text}`)).toEqual([`VolumeMismatch: ${message}`]);
    expect(tokenFacts(observed).blockers.map(({ message: text }) => text)).toEqual([message]);
  });

  test("are not promoted if the policy at the other site names none", () => {
    const observed = twoVolumes().observe(holder(), peerWith([]));
    expect(writeTexts(plan(observed, mayWrite))).toEqual([]);
    expect(tokenFacts(observed).blockers).toHaveLength(2);
  });

  test("may differ in a forced takeover", () => {
    const forced = holder({ forced: "the other site burns" });
    expect(writeTexts(plan(twoVolumes().observe(forced, peerWith(["VolumeReplication data"])), mayWrite))).toHaveLength(2);

    const times = { startTime: "2026-11-16T10:00:00Z", completionTime: "2026-11-16T10:01:00Z" };
    const transition = { to: "primary" as const, mode: "safe" as const, generation: 0, ...times, steps: [] };
    const later = { ...forced, status: { ...forced.status, transition } };
    expect(writeTexts(plan(twoVolumes().observe(later, peerWith(["VolumeReplication data"])), mayWrite))).toEqual([]);
  });
});

describe("a policy whose spec.peer is gone", () => {
  const gone = { peer: { reachable: false, message: "spec.peer is gone" } } as const;
  const planOf = (given: ReturnType<typeof orphan>, spec: "primary" | "secondary" = "secondary") => {
    const observed = new FakeSite().put("VolumeReplication", volume("data", spec)).observe(given, gone);
    return plan(observed, decideToken({ policy: given, mode: "safe", ...tokenFacts(observed), ...gone }));
  };

  test("does not promote after it has released: the other site may hold", () => {
    const result = planOf(orphan("primary", { state: "Released", copied: true }));
    expect(result.rejections.map(({ reason, field }) => `${reason} ${field}`)).toEqual(["PeerRemoved spec.peer"]);
    expect(writeTexts(result)).toEqual([]);
  });

  test("stays primary, and still releases on the way to secondary", () => {
    expect(planOf(orphan("primary", { state: "Held" }), "primary")).toMatchObject({ rejections: [], complete: true });
    const marked = new FakeSite().put(
      "VolumeReplication",
      volume("data", "secondary", { metadata: { annotations: { "plumbline.dev/failover-epoch": "6/1" } } }),
    );
    const given = orphan("secondary", { state: "Held" });
    const observed = marked.observe(given, gone);
    expect(decideToken({ policy: given, mode: "safe", ...tokenFacts(observed), ...gone }).release).toEqual({
      epoch: 6,
      state: "Released",
      copied: true,
    });
  });

  test.each([
    ["a holder", "primary", "Held", forget("here", 6), true],
    ["a secondary", "secondary", "Released", forget("here", 6), true],
    ["one that has released and wants to be primary", "primary", "Released", forget("here", 6), false],
    ["an order for an earlier object", "secondary", "Released", forget("elsewhere", 6), false],
    ["an order for an earlier epoch", "secondary", "Released", forget("here", 5), false],
    ["an order that cannot be read", "secondary", "Released", { "plumbline.dev/failover-forget-peer": "yes" }, false],
  ] as const)("drops its token on request: %s", (_, role, state, annotations, isForgotten) => {
    const result = planOf(orphan(role, { state }, annotations), role);
    expect(result.steps.some(({ name, token }) => name === "ForgetToken" && token === null)).toBe(isForgotten);
  });
});
