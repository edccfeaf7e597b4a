import { describe, expect, test } from "vitest";
import type { Role } from "../api/failover/failover-policy.ts";
import type { Condition } from "../api/kind.ts";
import { plan, tokenFacts } from "./plan.ts";
import { SpecimenSite } from "./specimen-site.ts";
import { steps, words } from "./specimen-run.ts";
import { condition, deployment, named, NOW, pod, policy, volume, VOLUME_CONDITIONS } from "./specimen.ts";

type Overrides = NonNullable<Parameters<typeof volume>[2]>;

const data = (desiredState: Role, status?: object) =>
  policy({ desiredState, managedResources: named("VolumeReplication data") }, status ? { status } : {});
const planned = (desiredState: Role, spec: "primary" | "secondary" | "resync", overrides: Overrides = {}) =>
  plan(new SpecimenSite().put("VolumeReplication", volume("data", spec, overrides)).observe(data(desiredState)));

const bound = () =>
  new SpecimenSite()
    .put("VolumeReplication", volume("data", "primary"))
    .put("PersistentVolumeClaim", { metadata: { name: "data", namespace: "shop" }, spec: { volumeName: "pv-1" } });
const waits = (site: SpecimenSite) => {
  const result = plan(site.observe(data("secondary")));
  expect(words(result)).toEqual([]);
  return result.steps.filter(({ state }) => state === "Wait").flatMap((step) => step.waits.map(({ message }) => message));
};
const rested = (to: Role, generation = 1) => ({
  transition: { to, mode: "safe", generation, startTime: "2026-11-16T11:00:00Z", completionTime: "2026-11-16T11:01:00Z", steps: [] },
});

describe("whether a volume is in its state", () => {
  const { promoted, promoteFailed, justDemoted, syncing, inSync, demoteFailed, resyncFailed, degradedPrimary } = VOLUME_CONDITIONS;
  test.each([
    ["promoted", "primary", "primary", "Primary", promoted, "Complete"],
    ["promote failed", "primary", "primary", "Secondary", promoteFailed, "Completed is False (FailedToPromote)"],
    ["a degraded primary", "primary", "primary", "Primary", degradedPrimary, "Degraded is True (Error)"],
    ["just demoted", "secondary", "secondary", "Secondary", justDemoted, "Complete"],
    ["a secondary whose peer is primary", "secondary", "secondary", "Secondary", syncing, "Complete"],
    ["a secondary fully in sync", "secondary", "secondary", "Secondary", inSync, "Complete"],
    ["demote failed", "secondary", "secondary", "Primary", demoteFailed, "Completed is False (FailedToDemote)"],
    ["a resync that somebody asked for", "secondary", "resync", "Secondary", syncing, "Complete"],
    ["resync failed", "secondary", "resync", "Secondary", resyncFailed, "Completed is False (FailedToResync)"],
  ] as const)("%s", (_, to, spec, state, conditions, outcome) => {
    const { complete, failures } = planned(to, spec, { conditions: [...conditions], status: { state } });
    const errors = failures.map(({ reason, message }) => `${reason}: ${message}`);
    expect(complete ? ["Complete"] : errors).toEqual([
      outcome === "Complete" ? outcome : `VolumeError: VolumeReplication data not in desired state: ${outcome}`,
    ]);
  });

  test.each([
    ["its status is of an earlier generation", { metadata: { generation: 2 } }, "its status is not yet of generation 2"],
    ["its state is another", { status: { state: "Secondary" } }, "it is Secondary"],
    ["its state is unknown", { status: { state: "Unknown" } }, "it is Unknown"],
    ["it has no conditions", { conditions: [] }, "condition Completed is not yet True at generation 1"],
    [
      "Completed does not say of which generation it is",
      { conditions: [withoutGeneration()] },
      "condition Completed is not yet True at generation 1",
    ],
  ] as [string, Overrides, string][])("a primary is waited for while %s, without an error", (_, overrides, lacking) => {
    const result = planned("primary", "primary", overrides);
    expect(result.failures).toEqual([]);
    expect(steps(result)).toContain("AwaitVolumes Wait");
    expect(result.resources[0]).toMatchObject({ error: "VolumeReplication data not in desired state", message: lacking });
  });

  test("a volume that is primary already keeps the conditions of an earlier generation, since csi-addons had nothing to do for it", () => {
    const edited = { metadata: { generation: 2 }, status: { observedGeneration: 2 } };
    expect(planned("primary", "primary", edited).complete).toBe(true);
    const secondary: Overrides = { ...edited, conditions: [...inSync], status: { ...edited.status, state: "Secondary" } };
    expect(planned("secondary", "secondary", secondary).complete).toBe(false);
  });

  test("a volume that is asked to be secondary is not asked to be primary before csi-addons has come to it", () => {
    const underWay = planned("primary", "secondary", { metadata: { generation: 2 } });
    expect(steps(underWay)).toContain("PromoteVolumes Wait");
    expect(underWay.steps.find(({ name }) => name === "PromoteVolumes")?.waits).toMatchObject([
      { message: "VolumeReplication data has not yet come to what it was asked before" },
    ]);
    const failed = planned("primary", "secondary", { conditions: [...demoteFailed] });
    expect(words(failed)).toContain("promote VolumeReplication shop/data");
  });

  test("an error of an earlier generation is none of the present one", () => {
    const conditions = VOLUME_CONDITIONS.demoteFailed.map((one) => ({ ...one }));
    expect(planned("primary", "primary", { conditions, metadata: { generation: 2 } }).failures).toEqual([]);
  });

  test("a flip to and fro is seen by the spec, whatever the status still says", () => {
    // Asked to be primary, but csi-addons has not got to it: the status is still that of a secondary.
    const overrides: Overrides = { conditions: [...VOLUME_CONDITIONS.inSync], status: { state: "Secondary" }, metadata: { generation: 2 } };
    const back = planned("secondary", "primary", overrides);
    expect(words(back)).toEqual(["demote VolumeReplication shop/data"]);
    expect(back.complete).toBe(false);
  });

  test("a promotion that failed does not keep the volume from going back", () => {
    expect(
      words(planned("secondary", "primary", { conditions: [...VOLUME_CONDITIONS.promoteFailed], status: { state: "Secondary" } })),
    ).toEqual(["demote VolumeReplication shop/data"]);
  });
});

describe("before a volume is demoted", () => {
  test("nobody may mount its claim, managed or not, starting, running or ending", () => {
    const starting = pod("batch-1", { claim: "data" });
    delete starting.spec.nodeName;
    const site = bound().put(
      "Pod",
      starting,
      pod("batch-2", { claim: "data" }),
      pod("batch-3", { claim: "data", deletionTimestamp: "2026-11-16T12:00:30Z" }),
      pod("batch-4", { claim: "data", deletionTimestamp: "2026-11-16T11:59:00Z" }),
      pod("batch-5", { claim: "data", deletionTimestamp: "2026-11-16T11:59:00Z", finalizers: ["example.com/hold"] }, "Succeeded"),
      pod("batch-6", { claim: "other" }),
      pod("batch-7", { claim: "data" }, "Succeeded"),
      pod("batch-8", { claim: "data" }, "Failed"),
    );
    const mounts = "mounts claim data of VolumeReplication data";
    expect(waits(site)).toEqual([
      `Pod shop/batch-1 ${mounts} and may start at any moment`,
      `Pod shop/batch-2 ${mounts} and runs on node n1`,
      `Pod shop/batch-3 ${mounts} and is terminating on node n1, by 2026-11-16T12:00:30Z at the latest`,
      `Pod shop/batch-4 ${mounts} and should have ended by 2026-11-16T11:59:00Z on node n1; if that node is known to be off, taint it node.kubernetes.io/out-of-service, and do not force the deletion`,
      `Pod shop/batch-5 ${mounts} and has ended on node n1, but is not gone: finalizer example.com/hold holds it`,
    ]);
  });

  test("an ephemeral volume is a claim too", () => {
    const ephemeral = pod("data");
    const site = new SpecimenSite()
      .put("VolumeReplication", {
        ...volume("x", "primary"),
        spec: { replicationState: "primary", dataSource: { kind: "PersistentVolumeClaim", name: "data-scratch" } },
      })
      .put("Pod", { ...ephemeral, spec: { ...ephemeral.spec, volumes: [{ name: "scratch", ephemeral: {} }] } });
    const result = plan(site.observe(policy({ managedResources: named("VolumeReplication x") })));
    expect(steps(result)).toContain("DemoteVolumes Wait");
  });

  test("no node may have it attached", () => {
    const source = { persistentVolumeName: "pv-1" };
    const site = bound().put("VolumeAttachment", { metadata: { name: "csi-1" }, spec: { attacher: "csi", nodeName: "n1", source } });
    expect(waits(site)).toEqual(["Volume pv-1 of VolumeReplication shop/data is still attached to node n1"]);
  });

  test.each(["Pod shop", "PersistentVolumeClaim shop", "VolumeAttachment", "VolumeReplication shop/data"])(
    "%s has to be looked at",
    (error) => {
      const site = bound();
      site.errors.add(error);
      expect(waits(site).join()).toContain("the server is away");
    },
  );

  test("all have to be free before the first is touched", () => {
    const site = bound()
      .put("VolumeReplication", volume("cache", "primary"))
      .put("Pod", pod("web-1", { claim: "cache" }));
    const both = policy({ managedResources: named("VolumeReplication data", "VolumeReplication cache") });
    expect(words(plan(site.observe(both)))).toEqual([]);
    site.delete("Pod", "web-1");
    expect(words(plan(site.observe(both)))).toEqual(["demote VolumeReplication shop/data", "demote VolumeReplication shop/cache"]);
  });

  test("what it was last copied at is remembered with it, since a secondary no longer says so", () => {
    const site = bound().put("VolumeReplication", volume("data", "primary", { status: { lastSyncTime: "2026-11-16T11:58:00Z" } }));
    const [write] = plan(site.observe(data("secondary"))).steps.flatMap((step) => step.writes);
    expect(write?.patch).toEqual({
      metadata: { annotations: { "plumbline.dev/failover-prior": '{"policy":"shop/site","lastSyncTime":"2026-11-16T11:58:00Z"}' } },
      spec: { replicationState: "secondary" },
    });
    if (write) site.write(write);
    expect(plan(site.observe(data("secondary"))).resources[0]?.lastSyncTime).toBe("2026-11-16T11:58:00Z");
  });

  test("that somebody else promoted since is not as old as its last demotion says", () => {
    const annotations = { "plumbline.dev/failover-prior": '{"policy":"shop/site","lastSyncTime":"2025-01-01T00:00:00Z"}' };
    const again = volume("data", "primary", { metadata: { annotations }, status: { lastSyncTime: "2026-11-16T11:58:00Z" } });
    const site = bound().put("VolumeReplication", again);
    const result = plan(site.observe(data("secondary")));
    expect(result.resources[0]?.lastSyncTime).toBe("2026-11-16T11:58:00Z");
    expect(result.steps.flatMap(({ writes }) => writes)[0]?.patch).toMatchObject({
      metadata: { annotations: { "plumbline.dev/failover-prior": '{"policy":"shop/site","lastSyncTime":"2026-11-16T11:58:00Z"}' } },
    });
    const silent = bound().put("VolumeReplication", volume("data", "primary", { metadata: { annotations } }));
    expect(plan(silent.observe(data("secondary"))).steps.flatMap(({ writes }) => writes)[0]?.patch).toEqual({
      metadata: { annotations: { "plumbline.dev/failover-prior": '{"policy":"shop/site","lastSyncTime":null}' } },
      spec: { replicationState: "secondary" },
    });
  });

  test("one that would not be demoted keeps the others as they are", () => {
    const failed = volume("data", "secondary", { conditions: [...VOLUME_CONDITIONS.demoteFailed], status: { state: "Primary" } });
    const site = new SpecimenSite().put("VolumeReplication", failed, volume("cache", "primary"));
    const both = named("VolumeReplication data", "VolumeReplication cache");
    expect(words(plan(site.observe(policy({ managedResources: both }))))).toEqual([]);
    expect(words(plan(site.observe(policy({ managedResources: both, mode: "off" }))))).toEqual(["demote VolumeReplication shop/cache"]);
  });

  test("a group is refused: nobody could tell which claims are in it", () => {
    const group = volume("data", "primary");
    group.spec.dataSource.kind = "VolumeGroupReplication";
    const result = plan(new SpecimenSite().put("VolumeReplication", group).observe(data("secondary")));
    expect(result.refusals.map(({ message }) => message)).toEqual([
      "VolumeReplication data is of a VolumeGroupReplication; only one of a PersistentVolumeClaim can be switched",
    ]);
    expect(words(result)).toEqual([]);
  });
});

test("two of three that are primary bring nothing back", () => {
  const site = new SpecimenSite()
    .put("VolumeReplication", volume("a", "primary"), volume("b", "primary"), volume("c", "primary", { status: { state: "Secondary" } }))
    .put("Deployment", deployment("web", { replicas: 0 }, { annotations: { "plumbline.dev/failover-prior": '{"replicas":2}' } }));
  const resources = named("VolumeReplication a", "VolumeReplication b", "VolumeReplication c", "Deployment web");
  const result = plan(site.observe(policy({ desiredState: "primary", managedResources: resources })));
  expect(words(result)).toEqual([]);
  expect(steps(result)).toContain("RestoreWorkloads Pending");
  expect(result.requeueAfterMs).toBe(5_000);
});

describe("a volume that somebody else moved", () => {
  test("from a primary at rest is an error and is not taken back, until the policy changes", () => {
    const site = new SpecimenSite().put("VolumeReplication", volume("data", "secondary"));
    const drifted = plan(site.observe(data("primary", rested("primary"))));
    expect(drifted.failures.map(({ reason }) => reason)).toEqual(["Drifted"]);
    expect(words(drifted)).toEqual([]);
    expect(drifted.complete).toBe(false);
    expect(words(plan(site.observe(data("primary", rested("primary", 0)))))).toEqual(["promote VolumeReplication shop/data"]);
  });

  test("from a secondary at rest is demoted again", () => {
    const site = new SpecimenSite().put("VolumeReplication", volume("data", "primary"));
    expect(words(plan(site.observe(data("secondary", rested("secondary")))))).toEqual(["demote VolumeReplication shop/data"]);
  });
});

describe("what the token rests on", () => {
  test.each([
    ["just demoted", "justDemoted", ["VolumeReplication data has not everything yet: Degraded not False"]],
    ["syncing", "syncing", ["VolumeReplication data has not everything yet: Degraded and Resyncing not False"]],
    ["in sync", "inSync", []],
  ] as const)("%s: what the other site wrote may be missing", (_, row, degraded) => {
    const site = new SpecimenSite().put("VolumeReplication", volume("data", "secondary", { conditions: [...VOLUME_CONDITIONS[row]] }));
    const facts = tokenFacts(site.observe(data("primary")));
    expect(facts.demoted).toBe(true);
    expect(facts.degraded.map(({ message }) => message)).toEqual(degraded);
  });

  test("a volume that does not exist is never demoted, and never whole", () => {
    const facts = tokenFacts(new SpecimenSite().observe(data("secondary")));
    expect(facts.demoted).toBe(false);
    expect(facts.degraded).toHaveLength(1);
  });

  test("while an epoch is held, what looks demoted has to be written once under it", () => {
    const site = new SpecimenSite().put("VolumeReplication", volume("data", "secondary"));
    const secret = { kubeconfigSecret: { name: "peer", key: "kubeconfig" } };
    const held = policy(
      { managedResources: named("VolumeReplication data"), peer: secret },
      { status: { token: { epoch: 3, state: "Held" } } },
    );
    expect(tokenFacts(site.observe(held)).demoted).toBe(false);
    const decision = { mayWrite: false, mustDemote: false, waits: [] };
    const result = plan(site.observe(held), decision);
    expect(words(result)).toEqual(["mark VolumeReplication shop/data"]);
    for (const write of result.steps.flatMap((step) => step.writes)) site.write(write);
    expect(site.get("VolumeReplication", "data").metadata.annotations).toEqual({ "plumbline.dev/failover-epoch": "3/1" });
    expect(tokenFacts(site.observe(held)).demoted).toBe(true);
  });
});

function withoutGeneration(): Condition {
  const completed = condition("Completed", "True", "Promoted");
  delete completed.observedGeneration;
  return completed;
}

test("a wait does not change from one look to the next", () => {
  const site = new SpecimenSite()
    .put("VolumeReplication", volume("data", "primary"))
    .put("Pod", pod("x-1", { claim: "data", deletionTimestamp: "2026-11-16T12:00:30Z" }));
  const first = plan(site.observe(data("secondary")));
  site.now = new Date(NOW.getTime() + 5_000);
  expect(plan(site.observe(data("secondary"))).steps).toEqual(first.steps);
});
