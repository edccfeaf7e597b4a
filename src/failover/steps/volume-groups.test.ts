import { describe, expect, test } from "vitest";
import type { PersistentVolumeClaim } from "../../api/core/persistent-volume-claim.ts";
import type { FailoverPolicy, Role } from "../../api/failover/failover-policy.ts";
import type { VolumeGroupReplication } from "../observe/external-kinds.ts";
import { plan } from "../plan.ts";
import { inFlux, steps, writeTexts } from "../testing/harness.ts";
import { FakeSite } from "../testing/fake-site.ts";
import { condition, deployment, named, pod, policy, VOLUME_CONDITIONS, volume, volumeGroup } from "../testing/fixtures.ts";
import { uncopiedVolumes } from "./volumes.ts";

const wanting = (desiredState: Role, ...more: string[]): FailoverPolicy =>
  policy({ desiredState, managedResources: named("VolumeGroupReplication db", ...more) });

function claim(name: string, labels: Record<string, string> = {}): PersistentVolumeClaim {
  return { metadata: { name, namespace: "shop", labels }, spec: { volumeName: `pv-${name}` } };
}

function siteOf(...made: Parameters<typeof volumeGroup>): FakeSite {
  const { group, replication } = volumeGroup(...made);
  return new FakeSite()
    .put("VolumeGroupReplication", group)
    .put("VolumeReplication", replication)
    .put("PersistentVolumeClaim", claim("db"), claim("wal"));
}

const waiting = (site: FakeSite, wanted: FailoverPolicy) =>
  plan(site.observe(wanted)).steps.flatMap(({ name, waits }) => waits.map(({ message }) => `${name}: ${message}`));

describe("a group of volumes", () => {
  test("is written itself, and its VolumeReplication never", () => {
    const down = plan(siteOf("db", "primary").observe(wanting("secondary")));
    expect(writeTexts(down)).toEqual(["demote VolumeGroupReplication shop/db"]);
    const up = plan(siteOf("db", "secondary", {}).observe(wanting("primary"))).steps.flatMap(({ writes }) => writes);
    expect(up.map(({ kind, object, patch }) => ({ kind: kind.kind, name: object.metadata.name, patch }))).toEqual([
      { kind: "VolumeGroupReplication", name: "db", patch: { spec: { replicationState: "primary" } } },
    ]);
  });

  test("is primary only if its VolumeReplication is requested and reported as primary, whatever the status of the group", () => {
    // Right after the group was asked: its VolumeReplication still has the old spec, with a status that is current.
    const lagging = siteOf("db", "primary", { of: "secondary" });
    const lie = { state: "Primary", observedGeneration: 3, conditions: [condition("Completed", "True", "Promoted", 3)] };
    const group = lagging.get("VolumeGroupReplication", "db");
    const liar: VolumeGroupReplication = { ...group, status: { ...group.status, ...lie } };
    lagging.put("VolumeGroupReplication", liar);
    expect(plan(lagging.observe(wanting("primary"))).complete).toBe(false);
    expect(plan(siteOf("db", "primary").observe(wanting("primary"))).complete).toBe(true);
  });

  test.each<Role>(["primary", "secondary"])(
    "is not %s before csi-addons has observed the current group: its VolumeReplication may be outdated",
    (role) => {
      const site = siteOf("db", role);
      site.edit("VolumeGroupReplication", site.get("VolumeGroupReplication", "db"), ({ metadata }) => {
        // Asked for the other role and back: an older read of csi-addons can still reach the VolumeReplication.
        metadata.generation = 5;
      });
      const { complete, steps: all } = plan(site.observe(wanting(role)));
      expect(complete).toBe(false);
      expect(all.flatMap(({ waits }) => waits.map(({ message }) => message))).toContain(
        "VolumeGroupReplication db not in desired state: its status is not yet of generation 5",
      );
      expect(uncopiedVolumes(site.observe(wanting(role)))).toHaveLength(1);
    },
  );

  test("is unknown while its VolumeReplication is missing, belongs to another group, or cannot be read", () => {
    const missing = siteOf("db", "primary", { spec: { volumeReplicationName: "vr-other" } });
    expect(plan(missing.observe(wanting("primary"))).complete).toBe(false);

    const strange = siteOf("db", "primary");
    strange.edit("VolumeReplication", strange.get("VolumeReplication", "vr-db"), ({ metadata }) => {
      metadata.annotations = { "replication.storage.openshift.io/volumegroupref": "shop/other" };
    });
    expect(plan(strange.observe(wanting("primary"))).complete).toBe(false);

    const unread = siteOf("db", "secondary");
    unread.errors.add("VolumeReplication shop");
    const { steps: all, currentState } = plan(unread.observe(wanting("primary")));
    expect(currentState).toBe("unknown");
    expect(all.flatMap(({ writes }) => writes)).toEqual([]);
  });

  test("that csi-addons cannot handle is awaited with the message of csi-addons", () => {
    const site = siteOf("db", "secondary", { of: "primary" });
    const group = site.get("VolumeGroupReplication", "db");
    const message = "PVC shop/tmp is not bound";
    site.put("VolumeGroupReplication", { ...group, status: { ...group.status, message } });
    expect(waiting(site, wanting("secondary"))).toContainEqual(expect.stringMatching(/^AwaitVolumes: .*PVC shop\/tmp is not bound$/));
  });

  test("is demoted if none of its claims, including those that its selector now matches, is in use", () => {
    const site = siteOf("db", "primary", { claims: ["db", "wal"] }).put("PersistentVolumeClaim", claim("new", { group: "db" }));
    for (const used of ["db", "wal", "new"]) {
      site.put("Pod", pod("user-0", { claim: used }));
      expect(waiting(site, wanting("secondary"))).toContainEqual(
        expect.stringContaining(`DemoteVolumes: Pod shop/user-0 mounts claim ${used} of VolumeGroupReplication db`),
      );
      site.delete("Pod", "user-0");
    }
    const source = { persistentVolumeName: "pv-new" };
    site.put("VolumeAttachment", { metadata: { name: "a" }, spec: { attacher: "csi", nodeName: "n1", source } });
    expect(waiting(site, wanting("secondary"))).toContainEqual(
      "DemoteVolumes: Volume pv-new of VolumeGroupReplication shop/db is still attached to node n1",
    );
    site.delete("VolumeAttachment", "a", "");
    expect(writeTexts(plan(site.observe(wanting("secondary"))))).toEqual(["demote VolumeGroupReplication shop/db"]);
  });

  test("proves its copy by the conditions of its VolumeReplication", () => {
    const site = siteOf("db", "secondary");
    site.edit("VolumeReplication", site.get("VolumeReplication", "vr-db"), ({ status = {} }) => {
      status.conditions = [...VOLUME_CONDITIONS.syncing];
    });
    const uncopied = () => uncopiedVolumes(site.observe(wanting("secondary"))).map(({ message }) => message);
    expect(uncopied()).toEqual([expect.stringContaining("VolumeGroupReplication db is not copied yet: Degraded is True")]);
    site.edit("VolumeReplication", site.get("VolumeReplication", "vr-db"), ({ status = {} }) => {
      status.conditions = [...VOLUME_CONDITIONS.inSync];
    });
    expect(uncopied()).toEqual([]);
  });

  test("is listed with its kind and the error of its driver", () => {
    const site = siteOf("db", "primary");
    site.edit("VolumeReplication", site.get("VolumeReplication", "vr-db"), ({ status = {} }) => {
      status.conditions = [...VOLUME_CONDITIONS.promoteFailed];
    });
    const { failures, resources } = plan(site.observe(wanting("primary")));
    expect(failures).toMatchObject([{ kind: "VolumeGroupReplication", name: "db", reason: "VolumeError" }]);
    expect(resources).toMatchObject([{ resource: { kind: "VolumeGroupReplication" }, state: "Primary" }]);
  });

  test("of a Kustomization that is not named is rejected like a volume", () => {
    const site = siteOf("db", "primary");
    site.edit("VolumeGroupReplication", site.get("VolumeGroupReplication", "db"), ({ metadata }) => {
      metadata.labels = inFlux("kustomize", "apps").labels;
    });
    expect(plan(site.observe(wanting("secondary"))).rejections).toMatchObject([
      { reason: "OwnedByGitOps", kind: "VolumeGroupReplication" },
    ]);
  });
});

const blocker = (site: FakeSite, wanted: FailoverPolicy) => {
  const planned = plan(site.observe(wanted));
  expect(steps(planned).filter((step) => step.endsWith(" Act"))).toEqual([]);
  return planned.rejections.map(({ field, message }) => `${field}: ${message}`);
};

describe("rejects without a write", () => {
  test("a group of another controller", () => {
    expect(blocker(siteOf("db", "primary", { spec: { external: true } }), wanting("secondary"))).toEqual([
      "spec.managedResources[0]: VolumeGroupReplication db has spec.external: csi-addons does not switch it, and its status proves nothing",
    ]);
  });

  test("a group without claims, which would become primary while empty", () => {
    expect(blocker(siteOf("db", "primary", { claims: [] }), wanting("secondary"))).toEqual([
      "spec.managedResources[0]: VolumeGroupReplication db has no claims: label PersistentVolumeClaims so that spec.source.selector matches them",
    ]);
  });

  test("the VolumeReplication of a group, with the name to use instead", () => {
    const site = siteOf("db", "primary");
    expect(blocker(site, policy({ desiredState: "secondary", managedResources: named("VolumeReplication vr-db") }))).toEqual([
      "spec.managedResources[0]: VolumeReplication vr-db is of a VolumeGroupReplication; name VolumeGroupReplication db instead",
    ]);
  });
});

test("a volume and a group are switched together", () => {
  const site = siteOf("db", "secondary", { of: "secondary" }).put("VolumeReplication", volume("data", "secondary"));
  expect(plan(site.observe(wanting("primary", "VolumeReplication data"))).steps[0]?.writes.map((write) => write.description)).toEqual([
    "promote VolumeReplication shop/data",
    "promote VolumeGroupReplication shop/db",
  ]);
});

test("a site that was outranked stops its workloads also while its group is terminating", () => {
  const site = siteOf("db", "primary", { claims: ["db"] }).put("Deployment", deployment("web"));
  site.edit("VolumeGroupReplication", site.get("VolumeGroupReplication", "db"), ({ metadata }) => {
    metadata.deletionTimestamp = "2026-11-16T12:00:00Z";
  });
  const outranked = { release: { epoch: 1, state: "Released" as const }, mayWrite: false, mustDemote: true, waits: [] };
  const peer = { kubeconfigSecret: { name: "other", key: "kubeconfig" } };
  const managedResources = named("VolumeGroupReplication db", "Deployment web");
  const made = plan(site.observe(policy({ desiredState: "primary", peer, managedResources })), outranked);
  expect(made.rejections).toEqual([]);
  expect(made.failures.map(({ reason }) => reason)).toEqual(["SplitBrain", "Refused"]);
  expect(writeTexts(made)).toEqual(["scale Deployment shop/web from 1 to 0"]);
});
