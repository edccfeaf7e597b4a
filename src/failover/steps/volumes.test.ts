import { describe, expect, test } from "vitest";
import type { Role } from "../../api/failover/failover-policy.ts";
import type { Condition } from "../../api/kind.ts";
import { plan, tokenFacts } from "../plan.ts";
import { FakeSite } from "../testing/fake-site.ts";
import { OBEDIENT, rejected } from "../testing/csi-addons.ts";
import { steps, TransitionHarness, writeTexts } from "../testing/harness.ts";
import { condition, deployment, named, NOW, pod, policy, volume, VOLUME_CONDITIONS } from "../testing/fixtures.ts";

type Overrides = NonNullable<Parameters<typeof volume>[2]>;

const data = (desiredState: Role, status?: object) =>
  policy({ desiredState, managedResources: named("VolumeReplication data") }, status ? { status } : {});
const planned = (desiredState: Role, spec: "primary" | "secondary" | "resync", overrides: Overrides = {}) =>
  plan(new FakeSite().put("VolumeReplication", volume("data", spec, overrides)).observe(data(desiredState)));

const bound = () =>
  new FakeSite()
    .put("VolumeReplication", volume("data", "primary"))
    .put("PersistentVolumeClaim", { metadata: { name: "data", namespace: "shop" }, spec: { volumeName: "pv-1" } });
const waits = (site: FakeSite) => {
  const result = plan(site.observe(data("secondary")));
  expect(writeTexts(result)).toEqual([]);
  return result.steps.filter(({ state }) => state === "Wait").flatMap((step) => step.waits.map(({ message }) => message));
};
const rested = (to: Role, generation = 1) => ({
  transition: { to, mode: "safe", generation, startTime: "2026-11-16T11:00:00Z", completionTime: "2026-11-16T11:01:00Z", steps: [] },
});

const withDriver = (attachRequired?: boolean) => {
  const object = volume("data", "primary");
  return new FakeSite()
    .put("VolumeReplication", { ...object, spec: { ...object.spec, volumeReplicationClass: "mirrored" } })
    .put("VolumeReplicationClass", { metadata: { name: "mirrored" }, spec: { provisioner: "nfs.example.com" } })
    .put("CSIDriver", {
      metadata: { name: "nfs.example.com" },
      spec: attachRequired === undefined ? {} : { attachRequired },
    });
};
const onTheWay = (writesStoppedTime?: string, spec: object = {}) => {
  const started = { to: "secondary", mode: "safe", generation: 1, startTime: "2026-11-16T11:00:00Z", steps: [] };
  const status = { transition: { ...started, ...(writesStoppedTime !== undefined && { writesStoppedTime }) } };
  return policy({ managedResources: named("VolumeReplication data"), ...spec }, { status: status as never });
};

const DIVERGED = ". It has writes that the other site does not have; to discard them, set spec.replicationState to resync";

describe("the observed state of a volume", () => {
  const { promoted, promoteFailed, justDemoted, syncing, inSync, demoteFailed, resyncFailed, degradedPrimary } = VOLUME_CONDITIONS;
  test.each([
    ["promoted", "primary", "primary", "Primary", promoted, "Complete"],
    ["promote failed", "primary", "primary", "Secondary", promoteFailed, "Completed is False (FailedToPromote)"],
    ["a degraded primary", "primary", "primary", "Primary", degradedPrimary, "Degraded is True (Error)"],
    ["just demoted", "secondary", "secondary", "Secondary", justDemoted, "Complete"],
    ["a secondary whose peer is primary", "secondary", "secondary", "Secondary", syncing, "Complete"],
    ["a secondary fully in sync", "secondary", "secondary", "Secondary", inSync, "Complete"],
    ["demote failed", "secondary", "secondary", "Primary", demoteFailed, "Completed is False (FailedToDemote)"],
    ["a requested resync", "secondary", "resync", "Secondary", syncing, "Complete"],
    ["resync failed", "secondary", "resync", "Secondary", resyncFailed, `Completed is False (FailedToResync)${DIVERGED}`],
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
  ] as [string, Overrides, string][])("a primary is awaited while %s, without an error", (_, overrides, lacking) => {
    const result = planned("primary", "primary", overrides);
    expect(result.failures).toEqual([]);
    expect(steps(result)).toContain("AwaitVolumes Wait");
    expect(result.resources[0]).toMatchObject({ error: "VolumeReplication data not in desired state", message: lacking });
  });

  test("a volume that is already primary may have conditions of an earlier generation", () => {
    const edited = { metadata: { generation: 2 }, status: { observedGeneration: 2 } };
    expect(planned("primary", "primary", edited).complete).toBe(true);
    const secondary: Overrides = { ...edited, conditions: [...inSync], status: { ...edited.status, state: "Secondary" } };
    expect(planned("secondary", "secondary", secondary).complete).toBe(false);
  });

  test("a volume that is requested as secondary is not requested as primary before csi-addons has handled it", () => {
    const underWay = planned("primary", "secondary", { metadata: { generation: 2 } });
    expect(steps(underWay)).toContain("PromoteVolumes Wait");
    expect(underWay.steps.find(({ name }) => name === "PromoteVolumes")?.waits).toMatchObject([
      { message: "VolumeReplication data has not reached its previous desired state" },
    ]);
  });

  test("a demotion whose response was lost must be observed as Secondary before a promotion", () => {
    const lost = planned("primary", "secondary", { conditions: [...demoteFailed], status: { state: "Primary" } });
    expect(writeTexts(lost)).not.toContain("promote VolumeReplication shop/data");
    expect(lost.steps.find(({ name }) => name === "PromoteVolumes")?.waits.map(({ message }) => message)).toEqual([
      "VolumeReplication data was demoted and is not Secondary yet; it is promoted after that",
    ]);
    const demoted = planned("primary", "secondary", { conditions: [...demoteFailed], status: { state: "Secondary" } });
    expect(writeTexts(demoted)).toContain("promote VolumeReplication shop/data");
  });

  test.each([
    ["csi-addons 0.14 and a driver that rejects GetVolumeReplicationInfo", [...promoted, condition("Replicating", "Unknown", "x")], true],
    ["csi-addons 0.12, or a driver without information", [...promoted], true],
    ["a driver that answers for a primary", [...promoted, condition("Replicating", "True", "Replicating")], false],
    ["a driver that answers for a degraded primary", [...promoted, condition("Replicating", "False", "NotReplicating")], false],
    ["a driver whose response is older than our demotion", [...promoted, condition("Replicating", "True", "Replicating", 0)], true],
  ] as const)("a volume that others requested as primary after our demotion: %s", (_, conditions, isDoubtful) => {
    const annotations = { "plumbline.dev/failover-prior": '{"policy":"shop/site","lastSyncTime":null}' };
    const overrides: Overrides = { conditions: [...conditions], metadata: { annotations } };
    const result = planned("primary", "primary", overrides);
    expect(result.complete).toBe(!isDoubtful);
    expect(writeTexts(result)).toEqual(
      isDoubtful ? ["demote VolumeReplication shop/data again before it is promoted: its last demotion was not confirmed"] : [],
    );
    const inUse = new FakeSite().put("VolumeReplication", volume("data", "primary", overrides)).put("Pod", pod("web-1", { claim: "data" }));
    expect(writeTexts(plan(inUse.observe(data("primary"))))).toEqual([]);
  });

  test("a volume that others requested as primary after a confirmed demotion is promoted by csi-addons, and awaited", () => {
    const annotations = { "plumbline.dev/failover-prior": '{"policy":"shop/site","lastSyncTime":null}' };
    const overrides: Overrides = { conditions: [...inSync], status: { state: "Secondary" }, metadata: { generation: 2, annotations } };
    const result = planned("primary", "primary", overrides);
    expect({ writes: writeTexts(result), complete: result.complete }).toEqual({ writes: [], complete: false });
  });

  test.each(["0.12", "0.13", "0.14"] as const)(
    "a volume whose demotion got no response, and that others requested as primary then, becomes one with csi-addons %s",
    (version) => {
      const run = new TransitionHarness(data("primary"));
      run.site.put("VolumeReplication", volume("data", "primary"));
      let [role, losesAnswer] = ["primary", true];
      run.controllers.csiAddonsVersion = version;
      run.controllers.driver = {
        ...OBEDIENT,
        promote: () => ((role = "primary"), {}),
        demote: () => {
          role = "secondary";
          return losesAnswer ? rejected("Internal", "connection lost") : {};
        },
        info: () => (role === "primary" ? { replicates: true } : rejected("Internal", "not primary")),
      };
      run.controllers.turn();
      run.runToEnd();
      run.want({ desiredState: "secondary" });
      run.pass();
      run.controllers.turn();
      losesAnswer = false;
      run.site.edit("VolumeReplication", run.site.get("VolumeReplication", "data"), ({ spec }) => void (spec.replicationState = "primary"));
      run.want({ desiredState: "primary" });
      run.runToEnd();
      expect(role).toBe("primary");
    },
  );

  test("an older condition counts for a primary only with reason Promoted", () => {
    const edited = { metadata: { generation: 2 }, status: { observedGeneration: 2 } };
    const failed = planned("primary", "primary", { ...edited, conditions: [...demoteFailed] });
    expect(failed.complete).toBe(false);
    expect(steps(failed)).toContain("AwaitVolumes Wait");
  });

  test("an error of an earlier generation is ignored", () => {
    const conditions = VOLUME_CONDITIONS.demoteFailed.map((one) => ({ ...one }));
    expect(planned("primary", "primary", { conditions, metadata: { generation: 2 } }).failures).toEqual([]);
  });

  test("a change back and forth is detected by the spec, whatever the status says", () => {
    // Asked to be primary, but csi-addons has not got to it: the status is still that of a secondary.
    const overrides: Overrides = { conditions: [...VOLUME_CONDITIONS.inSync], status: { state: "Secondary" }, metadata: { generation: 2 } };
    const back = planned("secondary", "primary", overrides);
    expect(writeTexts(back)).toEqual(["demote VolumeReplication shop/data"]);
    expect(back.complete).toBe(false);
  });

  test("a failed promotion does not block a demotion", () => {
    expect(
      writeTexts(planned("secondary", "primary", { conditions: [...VOLUME_CONDITIONS.promoteFailed], status: { state: "Secondary" } })),
    ).toEqual(["demote VolumeReplication shop/data"]);
  });
});

describe("before a volume is demoted", () => {
  test("no pod may mount its claim, managed or not, starting, running or ending", () => {
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
      `Pod shop/batch-4 ${mounts} and should have ended by 2026-11-16T11:59:00Z on node n1; if that node is off, taint it node.kubernetes.io/out-of-service, and do not force the deletion`,
      `Pod shop/batch-5 ${mounts} and has ended on node n1, but is not gone: finalizer example.com/hold holds it`,
    ]);
  });

  test("an ephemeral volume is a claim too", () => {
    const ephemeral = pod("data");
    const site = new FakeSite()
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

  test.each([
    ["does not exist", undefined],
    ["is not bound", {}],
  ])("its claim must be known: one that %s is awaited", (state, spec) => {
    const site = new FakeSite().put("VolumeReplication", volume("data", "primary"));
    if (spec) site.put("PersistentVolumeClaim", { metadata: { name: "data", namespace: "shop" }, spec });
    else site.delete("PersistentVolumeClaim", "data");
    expect(waits(site)).toEqual([
      `Claim data of VolumeReplication data ${state}, so the attachments of its volume are unknown; restore the claim`,
    ]);
  });

  describe("whose driver has no VolumeAttachments", () => {
    const demotion = ["demote VolumeReplication shop/data"];

    test("nodes get settleTime to flush, counted from the end of the last writer", () => {
      const site = withDriver(false);
      const driver = "CSI driver nfs.example.com of VolumeReplication data has no VolumeAttachments";
      const messages = (given: ReturnType<typeof onTheWay>) =>
        plan(site.observe(given)).steps.flatMap(({ state, waits: found }) => (state === "Wait" ? found.map(({ message }) => message) : []));
      expect(messages(onTheWay())).toEqual([`${driver}; waiting 30s after the last pod is gone (spec.settleTime)`]);
      expect(messages(onTheWay("2026-11-16T11:59:45Z"))).toEqual([
        `${driver}; waiting 30s after the last pod is gone, until 2026-11-16T12:00:15Z (spec.settleTime)`,
      ]);
      expect(writeTexts(plan(site.observe(onTheWay("2026-11-16T11:59:45Z"))))).toEqual([]);
      expect(writeTexts(plan(site.observe(onTheWay("2026-11-16T11:59:30Z"))))).toEqual(demotion);
      expect(writeTexts(plan(site.observe(onTheWay("2026-11-16T11:59:30Z", { settleTime: "1m" }))))).toEqual([]);
    });

    test("other drivers wait only for their attachments", () => {
      for (const attachRequired of [true, undefined])
        expect(writeTexts(plan(withDriver(attachRequired).observe(onTheWay())))).toEqual(demotion);
    });

    test.each(["VolumeReplicationClass", "CSIDriver"])("%s must be readable", (kind) => {
      const site = withDriver(true);
      site.errors.add(kind);
      expect(writeTexts(plan(site.observe(onTheWay())))).toEqual([]);
    });

    test("unsafe mode waits for none of it", () => {
      expect(writeTexts(plan(withDriver(false).observe(onTheWay(undefined, { mode: "off" }))))).toEqual(demotion);
    });
  });

  test("all must be free before the first is demoted", () => {
    const site = bound()
      .put("VolumeReplication", volume("cache", "primary"))
      .put("Pod", pod("web-1", { claim: "cache" }));
    const both = policy({ managedResources: named("VolumeReplication data", "VolumeReplication cache") });
    expect(writeTexts(plan(site.observe(both)))).toEqual([]);
    site.delete("Pod", "web-1");
    expect(writeTexts(plan(site.observe(both)))).toEqual(["demote VolumeReplication shop/data", "demote VolumeReplication shop/cache"]);
  });

  test("its lastSyncTime is recorded, since a secondary no longer reports it", () => {
    const site = bound().put("VolumeReplication", volume("data", "primary", { status: { lastSyncTime: "2026-11-16T11:58:00Z" } }));
    const [write] = plan(site.observe(data("secondary"))).steps.flatMap((step) => step.writes);
    expect(write?.patch).toEqual({
      metadata: { annotations: { "plumbline.dev/failover-prior": '{"policy":"shop/site","lastSyncTime":"2026-11-16T11:58:00Z"}' } },
      spec: { replicationState: "secondary" },
    });
    if (write) site.write(write);
    expect(plan(site.observe(data("secondary"))).resources[0]?.lastSyncTime).toBe("2026-11-16T11:58:00Z");
  });

  test("that others promoted since has its current lastSyncTime, not that of its last demotion", () => {
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

  test("one that cannot be demoted blocks the others", () => {
    const failed = volume("data", "secondary", { conditions: [...VOLUME_CONDITIONS.demoteFailed], status: { state: "Primary" } });
    const site = new FakeSite().put("VolumeReplication", failed, volume("cache", "primary"));
    const both = named("VolumeReplication data", "VolumeReplication cache");
    expect(writeTexts(plan(site.observe(policy({ managedResources: both }))))).toEqual([]);
    expect(writeTexts(plan(site.observe(policy({ managedResources: both, mode: "off" }))))).toEqual([
      "demote VolumeReplication shop/cache",
    ]);
  });

  test("a VolumeReplication of a group is rejected: its claims are unknown", () => {
    const group = volume("data", "primary");
    group.spec.dataSource.kind = "VolumeGroupReplication";
    const result = plan(new FakeSite().put("VolumeReplication", group).observe(data("secondary")));
    expect(result.rejections.map(({ message }) => message)).toEqual([
      "VolumeReplication data is of a VolumeGroupReplication; name VolumeGroupReplication data instead",
    ]);
    expect(writeTexts(result)).toEqual([]);
  });
});

test("two primaries of three restore no workload", () => {
  const site = new FakeSite()
    .put("VolumeReplication", volume("a", "primary"), volume("b", "primary"), volume("c", "primary", { status: { state: "Secondary" } }))
    .put("Deployment", deployment("web", { replicas: 0 }, { annotations: { "plumbline.dev/failover-prior": '{"replicas":2}' } }));
  const resources = named("VolumeReplication a", "VolumeReplication b", "VolumeReplication c", "Deployment web");
  const result = plan(site.observe(policy({ desiredState: "primary", managedResources: resources })));
  expect(writeTexts(result)).toEqual([]);
  expect(steps(result)).toContain("RestoreWorkloads Pending");
  expect(result.requeueAfterMs).toBe(5_000);
});

describe("a volume whose role others changed", () => {
  test("from primary at rest is an error and is not reverted until the policy changes", () => {
    const site = new FakeSite().put("VolumeReplication", volume("data", "secondary"));
    const drifted = plan(site.observe(data("primary", rested("primary"))));
    expect(drifted.failures.map(({ reason }) => reason)).toEqual(["Drifted"]);
    expect(writeTexts(drifted)).toEqual([]);
    expect(drifted.complete).toBe(false);
    expect(writeTexts(plan(site.observe(data("primary", rested("primary", 0)))))).toEqual(["promote VolumeReplication shop/data"]);
  });

  test("from a secondary at rest is demoted again", () => {
    const site = new FakeSite().put("VolumeReplication", volume("data", "primary"));
    expect(writeTexts(plan(site.observe(data("secondary", rested("secondary")))))).toEqual(["demote VolumeReplication shop/data"]);
  });
});

describe("the proof of the copy", () => {
  const secret = { kubeconfigSecret: { name: "peer", key: "kubeconfig" } };
  const holding = (spec: object = {}) =>
    policy(
      { managedResources: named("VolumeReplication data"), peer: secret, ...spec },
      { status: { token: { epoch: 3, state: "Held" } } },
    );

  test.each([
    ["just demoted", "justDemoted", ["VolumeReplication data is not copied yet: Degraded is True (VolumeDegraded)"]],
    [
      "syncing",
      "syncing",
      ["VolumeReplication data is not copied yet: Degraded is True (VolumeDegraded), Resyncing is True (ResyncTriggered)"],
    ],
    ["in sync", "inSync", []],
  ] as const)("%s: the source waits in AwaitCopy until its own volumes are copied", (_, row, waiting) => {
    const annotations = { "plumbline.dev/failover-epoch": "3/1" };
    const demoted = volume("data", "secondary", { conditions: [...VOLUME_CONDITIONS[row]], metadata: { annotations } });
    const observed = new FakeSite().put("VolumeReplication", demoted).observe(holding());
    const facts = tokenFacts(observed);
    expect(facts).toMatchObject({ demoted: true, writesStopped: true, copied: waiting.length === 0, promoted: false });
    const result = plan(observed, { mayWrite: false, mustDemote: false, waits: [] });
    expect(result.steps.find(({ name }) => name === "AwaitCopy")?.waits.map(({ message }) => message)).toEqual(waiting);
    expect(steps(result).slice(-2)).toEqual(
      waiting.length === 0 ? ["AwaitCopy Done", "ReleaseToken Wait"] : ["AwaitCopy Wait", "ReleaseToken Pending"],
    );
  });

  test("a condition of an earlier generation is no proof", () => {
    const demoted = volume("data", "secondary", { metadata: { generation: 2 }, status: { observedGeneration: 2 } });
    expect(tokenFacts(new FakeSite().put("VolumeReplication", demoted).observe(holding())).copied).toBe(false);
  });

  test("a volume that does not exist is never demoted, never copied, and never promoted", () => {
    const facts = tokenFacts(new FakeSite().observe(data("secondary")));
    expect(facts).toMatchObject({ demoted: false, copied: false, promoted: false });
    expect(facts.blockers).toHaveLength(1);
  });

  test("nothing is awaited after the release: the other site writes and replicates to this one", () => {
    const released = policy(
      { managedResources: named("VolumeReplication data"), peer: secret },
      { status: { token: { epoch: 3, state: "Released", copied: true } } },
    );
    const standby = volume("data", "secondary", { conditions: [...VOLUME_CONDITIONS.syncing] });
    const result = plan(new FakeSite().put("VolumeReplication", standby).observe(released), {
      mayWrite: false,
      mustDemote: false,
      waits: [],
    });
    expect(result.complete).toBe(true);
  });

  test("while an epoch is held, a volume that seems demoted must be written once in that epoch", () => {
    const site = new FakeSite().put("VolumeReplication", volume("data", "secondary"));
    const holder = holding();
    expect(tokenFacts(site.observe(holder)).demoted).toBe(false);
    const decision = { mayWrite: false, mustDemote: false, waits: [] };
    const result = plan(site.observe(holder), decision);
    expect(writeTexts(result)).toEqual(["mark VolumeReplication shop/data"]);
    for (const write of result.steps.flatMap((step) => step.writes)) site.write(write);
    expect(site.get("VolumeReplication", "data").metadata.annotations).toEqual({ "plumbline.dev/failover-epoch": "3/1" });
    expect(tokenFacts(site.observe(holder)).demoted).toBe(true);
  });
});

function withoutGeneration(): Condition {
  const completed = condition("Completed", "True", "Promoted");
  delete completed.observedGeneration;
  return completed;
}

test("a wait is stable between passes", () => {
  const site = new FakeSite()
    .put("VolumeReplication", volume("data", "primary"))
    .put("Pod", pod("x-1", { claim: "data", deletionTimestamp: "2026-11-16T12:00:30Z" }));
  const first = plan(site.observe(data("secondary")));
  site.now = new Date(NOW.getTime() + 5_000);
  expect(plan(site.observe(data("secondary"))).steps).toEqual(first.steps);
});
