import { describe, expect, test } from "vitest";
import type { Role } from "../../api/failover/failover-policy.ts";
import { plan } from "../plan.ts";
import { inFlux, steps, writeTexts } from "../testing/harness.ts";
import { FakeSite } from "../testing/fake-site.ts";
import { autoscaler, deployment, flux, named, pod, policy, scaledObject, statefulSet } from "../testing/fixtures.ts";

const PRIOR = "plumbline.dev/failover-prior";
const prior = (memory: object) => ({ [PRIOR]: JSON.stringify({ policy: "shop/site", ...memory }) });
const web = (desiredState: Role = "secondary", mode = "on") => policy({ desiredState, mode, managedResources: named("Deployment web") });
const planned = (site: FakeSite, desiredState: Role = "secondary", mode = "on") => plan(site.observe(web(desiredState, mode)));
const patches = (site: FakeSite, desiredState: Role = "secondary") =>
  planned(site, desiredState).steps.flatMap((step) => step.writes.map(({ patch }) => patch));
const zero = { replicas: 0, readyReplicas: 0, availableReplicas: 0, updatedReplicas: 0 };

const withSet = (desiredState: Role) => policy({ desiredState, managedResources: named("StatefulSet db", "Deployment web") });
const down = (status: object, metadata = {}) => ({
  ...deployment("web", { replicas: 0 }, metadata),
  status: { observedGeneration: 1, ...zero, ...status },
});
const stopped = (metadata = {}) => deployment("web", { replicas: 0 }, { annotations: prior({ replicas: 3 }), ...metadata });
const withFlux = (mode = "on") =>
  policy({ desiredState: "primary", mode, managedResources: named("Deployment web", "Kustomization apps") });
const inFluxWith = () => ({ ...inFlux("kustomize", "apps"), annotations: prior({ replicas: 3 }) });

const owned = () => new FakeSite().put("Deployment", stopped(inFluxWith()));

describe("a workload that is scaled down", () => {
  test("has its replicas recorded in the same write", () => {
    expect(patches(new FakeSite().put("Deployment", deployment("web", { replicas: 3 })))).toEqual([
      { metadata: { annotations: { [PRIOR]: '{"policy":"shop/site","replicas":3}' } }, spec: { replicas: 0 } },
    ]);
  });

  test("keeps the first recorded replicas, however often it is scaled up meanwhile", () => {
    const lifted = deployment("web", { replicas: 1 }, { annotations: prior({ replicas: 5 }) });
    const site = new FakeSite().put("Deployment", lifted);
    expect(patches(site)).toEqual([{ spec: { replicas: 0 } }]);
    expect(planned(site).resources[0]).toMatchObject({
      state: "Active",
      message: "Scaled up by another controller or person; scaling it down again",
    });
  });

  test("at 0 is skipped without a record", () => {
    expect(patches(new FakeSite().put("Deployment", deployment("web", { replicas: 0 })))).toEqual([]);
  });

  test("without replicas counts as 1, the API default", () => {
    expect(writeTexts(planned(new FakeSite().put("Deployment", deployment("web"))))).toEqual(["scale Deployment shop/web from 1 to 0"]);
  });

  test("is rejected if that would delete its claims", () => {
    const db = statefulSet("db", { replicas: 2, persistentVolumeClaimRetentionPolicy: { whenScaled: "Delete" } });
    const site = new FakeSite().put("StatefulSet", db).put("Deployment", deployment("web", { replicas: 1 }));
    const result = plan(site.observe(withSet("secondary")));
    expect(result.rejections.map(({ reason, message }) => `${reason}: ${message}`)).toEqual([
      "Refused: StatefulSet db deletes its claims when it is scaled down; set spec.persistentVolumeClaimRetentionPolicy.whenScaled to Retain",
    ]);
    expect(writeTexts(result)).toEqual([]);
    expect(result.complete).toBe(false);
    // On the way up it harms nothing.
    const up = plan(site.observe(withSet("primary")));
    expect(up.rejections).toEqual([]);
    expect(up.resources[0]?.message).toBe("The next switch to secondary will be rejected: whenScaled is Delete");
  });
});

describe("a workload counts as stopped", () => {
  test.each([
    ["replicas", { replicas: 2 }, "2/0/0/0"],
    ["available", { availableReplicas: 1 }, "0/1/0/0"],
    ["ready", { readyReplicas: 1 }, "0/0/1/0"],
    ["updated", { updatedReplicas: 1 }, "0/0/0/1"],
  ])("only if its status has no %s", (_, status, text) => {
    const result = planned(new FakeSite().put("Deployment", down(status)));
    expect(result.resources[0]).toMatchObject({
      state: "Scaling Down",
      error: `Deployment is scaling down: ${text} replicas (total/available/ready/updated)`,
    });
    expect(steps(result)).toContain("AwaitTermination Wait");
    expect(result.requeueAfterMs).toBe(5_000);
  });

  test("only if its status is of the current generation", () => {
    const result = planned(new FakeSite().put("Deployment", down({}, { generation: 2 })));
    expect(result.resources[0]).toMatchObject({ state: "Scaling Down", message: "Its status is of an earlier generation" });
    expect(steps(result)).toContain("AwaitTermination Wait");
  });

  test("only if its pods are gone: a Deployment does not count terminating pods", () => {
    const site = new FakeSite()
      .put("Deployment", down({}))
      .put("Pod", pod("web-1", { deletionTimestamp: "2026-11-16T12:00:30Z" }), pod("other-1"));
    const result = planned(site);
    expect(result.resources[0]).toMatchObject({
      state: "Scaling Down",
      error: "Deployment is scaling down: 0/0/0/0 replicas (total/available/ready/updated)",
      message: "Pod web-1 not gone yet",
    });
    expect(result.steps.find(({ name }) => name === "AwaitTermination")?.waits).toEqual([
      {
        kind: "Pod",
        node: "n1",
        onTime: true,
        namespace: "shop",
        name: "web-1",
        message: "Pod shop/web-1 belongs to Deployment web and is terminating on node n1, by 2026-11-16T12:00:30Z at the latest",
      },
    ]);
    site.delete("Pod", "web-1");
    expect(planned(site).resources[0]).toMatchObject({ state: "Scaled Down" });
    expect(planned(site).complete).toBe(true);
  });

  test.each([
    ["two labels", { matchLabels: { app: "web", tier: "front" } }],
    ["an expression", { matchExpressions: [{ key: "tier", operator: "In", values: ["front"] }] }],
  ])("by all of its selector: %s", (_, selector) => {
    const site = new FakeSite().put("Deployment", { ...down({}), spec: { replicas: 0, selector } });
    site.put("Pod", pod("web-1", { labels: { app: "web", tier: "back" } }));
    expect(planned(site).complete).toBe(true);
    site.put("Pod", pod("web-2", { labels: { app: "web", tier: "front" } }));
    expect(planned(site).resources[0]?.message).toBe("Pod web-2 not gone yet");
  });

  test("although a completed or evicted pod remains, which is never deleted", () => {
    const site = new FakeSite().put("Deployment", down({})).put("Pod", pod("web-1", {}, "Failed"), pod("web-2", {}, "Succeeded"));
    expect(planned(site).complete).toBe(true);
  });

  test("never while its pods cannot be read", () => {
    const site = new FakeSite().put("Deployment", down({}));
    site.errors.add("Pod shop");
    const result = planned(site);
    expect(steps(result)).toContain("AwaitTermination Wait");
    expect(result.complete).toBe(false);
  });

  test.each([
    ["OrderedReady", undefined, ", which stops none while only 0 of 2 are ready,"],
    ["OrderedReady", "2026-11-16T12:00:30Z", ""],
    ["Parallel", undefined, ""],
  ] as const)(
    "a StatefulSet that stops its pods %s, one terminating %s, reports if it is blocked",
    (podManagementPolicy, deletionTimestamp, stall) => {
      const db = { ...statefulSet("db", { replicas: 0, podManagementPolicy }), status: { observedGeneration: 1, ...zero, replicas: 2 } };
      const site = new FakeSite()
        .put("StatefulSet", db)
        .put("Pod", pod("db-0"), pod("db-1", deletionTimestamp ? { deletionTimestamp } : {}));
      const { steps: all } = plan(site.observe(policy({ managedResources: named("StatefulSet db") })));
      expect(all.flatMap(({ waits }) => waits)[0]?.message).toBe(`Pod shop/db-0 belongs to StatefulSet db${stall} and runs on node n1`);
    },
  );

  test("the message about a blocked StatefulSet names it", () => {
    const db = { ...statefulSet("db", { replicas: 0 }), status: { observedGeneration: 1, ...zero, replicas: 1 } };
    const result = plan(new FakeSite().put("StatefulSet", db).observe(policy({ managedResources: named("StatefulSet db") })));
    expect(result.resources[0]?.error).toBe("StatefulSet is scaling down: 1/0/0/0 replicas (total/available/ready/updated)");
  });
});

test.each([
  ["Deployment", "ReplicaSet", "web-5d9c", "belongs to Deployment web and"],
  ["Deployment", "ReplicaSet", "canary-5d9c", "is of ReplicaSet canary-5d9c, but the selector of Deployment web matches it too, and"],
  ["Deployment", "Job", "web-migrate", "is of Job web-migrate, but the selector of Deployment web matches it too, and"],
  ["StatefulSet", "StatefulSet", "web", "belongs to StatefulSet web and"],
] as const)("the message names the owner of the pod that a %s waits for: one of %s %s", (kind, ownerKind, owner, text) => {
  const ownerReferences = [{ apiVersion: "apps/v1", kind: ownerKind, name: owner, uid: "1", controller: true }];
  const site = new FakeSite().put(kind, deployment("web", { replicas: 0 })).put("Pod", pod("web-1", { ownerReferences }));
  const { steps } = plan(site.observe(policy({ managedResources: named(`${kind} web`) })));
  expect(steps.flatMap(({ waits }) => waits)[0]?.message).toContain(`Pod shop/web-1 ${text} runs on node n1`);
});

describe("autoscalers", () => {
  test("are paused after their workload, so that its replicas are recorded, and are recorded too", () => {
    const site = new FakeSite()
      .put("Deployment", deployment("web", { replicas: 3 }))
      .put("HorizontalPodAutoscaler", autoscaler("web", "Deployment web"), autoscaler("other", "Deployment other"))
      .put("ScaledObject", scaledObject("web", "web", { annotations: { "autoscaling.keda.sh/paused-replicas": "2" } }));
    expect(patches(site).slice(1)).toEqual([
      { metadata: { annotations: { ...prior({ pausedReplicas: "2" }), "autoscaling.keda.sh/paused-replicas": "0" } } },
      { metadata: { annotations: prior({ selectPolicy: null }) }, spec: { behavior: { scaleUp: { selectPolicy: "Disabled" } } } },
    ]);
  });

  test("of KEDA are not paused before the replicas of their workload are recorded", () => {
    const web = deployment("web", { replicas: 3 });
    const site = new FakeSite().put("Deployment", web).put("ScaledObject", scaledObject("web", "web"), scaledObject("api", "api"));
    const { steps } = plan(site.observe(policy({ managedResources: named("Deployment web", "Deployment api") })));
    const writes = steps.flatMap((step) => step.writes);
    expect(writes.map(({ object, after }) => [object.metadata.name, after?.metadata.name])).toEqual([
      ["web", undefined],
      ["web", "web"],
      ["api", undefined],
    ]);
  });

  test("that KEDA created are skipped", () => {
    const made = autoscaler("keda-hpa-web", "Deployment web");
    made.metadata.ownerReferences = [{ apiVersion: "keda.sh/v1alpha1", kind: "ScaledObject", name: "web", uid: "1" }];
    const site = new FakeSite().put("Deployment", deployment("web", { replicas: 0 })).put("HorizontalPodAutoscaler", made);
    expect(patches(site)).toEqual([]);
  });

  test.each([
    [null, { spec: { behavior: null } }],
    ["Min", { spec: { behavior: { scaleUp: { selectPolicy: "Min" } } } }],
  ])("are restored: %j", (selectPolicy, patch) => {
    const paused = autoscaler("web", "Deployment web", { behavior: { scaleUp: { selectPolicy: "Disabled" } } });
    paused.metadata.annotations = prior({ selectPolicy });
    const site = new FakeSite().put("Deployment", deployment("web")).put("HorizontalPodAutoscaler", paused);
    expect(patches(site, "primary")).toEqual([{ metadata: { annotations: { [PRIOR]: null } }, ...patch }]);
  });

  test("that others changed since are not reverted", () => {
    const paused = autoscaler("web", "Deployment web", { behavior: { scaleUp: { selectPolicy: "Max" } } });
    paused.metadata.annotations = prior({ selectPolicy: null });
    const scaled = scaledObject("web", "web", {
      annotations: { ...prior({ pausedReplicas: null }), "autoscaling.keda.sh/paused-replicas": "1" },
    });
    const site = new FakeSite().put("Deployment", deployment("web")).put("HorizontalPodAutoscaler", paused).put("ScaledObject", scaled);
    expect(patches(site, "primary")).toEqual([
      { metadata: { annotations: { [PRIOR]: null } } },
      { metadata: { annotations: { [PRIOR]: null } } },
    ]);
  });

  test("a cluster without KEDA has none", () => {
    const site = new FakeSite().put("Deployment", deployment("web", { replicas: 3 }));
    site.absentKinds.add("ScaledObject");
    expect(writeTexts(planned(site))).toEqual(["scale Deployment shop/web from 3 to 0"]);
  });

  test.each(["HorizontalPodAutoscaler shop", "ScaledObject shop"])(
    "%s that cannot be looked at could lift it again: safe mode waits",
    (error) => {
      const site = new FakeSite().put("Deployment", deployment("web", { replicas: 3 }));
      site.errors.add(error);
      expect(writeTexts(planned(site))).toEqual([]);
      expect(steps(planned(site))).toContain("ScaleDown Wait");
      expect(writeTexts(planned(site, "secondary", "off"))).toEqual(["scale Deployment shop/web from 3 to 0"]);
    },
  );
});

describe("a workload on the way to primary", () => {
  test("gets its recorded replicas, and the record is removed", () => {
    expect(patches(new FakeSite().put("Deployment", stopped()), "primary")).toEqual([
      { metadata: { annotations: { [PRIOR]: null } }, spec: { replicas: 3 } },
    ]);
  });

  test("keeps replicas that a user set meanwhile", () => {
    const site = new FakeSite().put("Deployment", deployment("web", { replicas: 7 }, { annotations: prior({ replicas: 3 }) }));
    expect(patches(site, "primary")).toEqual([{ metadata: { annotations: { [PRIOR]: null } } }]);
  });

  test("without a record stays as it is, and the status has the reason", () => {
    const result = planned(new FakeSite().put("Deployment", { ...deployment("web", { replicas: 0 }) }), "primary");
    expect(writeTexts(result)).toEqual([]);
    expect(result.complete).toBe(true);
    expect(result.resources[0]).toMatchObject({ state: "Scaled Down", message: "Left at 0 replicas: it was at 0 before" });
  });

  test.each(["{", "3", "null", '{"replicas":"3"}', '{"replicas":-1}', '{"suspend":true}'])(
    "is skipped with an error if its record is %s",
    (text) => {
      const result = planned(new FakeSite().put("Deployment", stopped({ annotations: { [PRIOR]: text } })), "primary");
      expect(writeTexts(result)).toEqual([]);
      expect(result.failures.map(({ message }) => message)).toEqual([
        `Annotation ${PRIOR} of Deployment shop/web cannot be read; restore the Deployment by hand and remove the annotation`,
      ]);
      expect(result.complete).toBe(false);
    },
  );

  describe("that Flux manages", () => {
    const requested = { annotations: { "reconcile.fluxcd.io/requestedAt": "t1" } };

    test("waits until Flux has handled the requested reconciliation", () => {
      const site = owned().put("Kustomization", flux("apps", {}, requested));
      expect(writeTexts(plan(site.observe(withFlux())))).toEqual([]);
      expect(plan(site.observe(withFlux())).steps.find(({ name }) => name === "RestoreWorkloads")?.waits).toEqual([
        {
          kind: "Kustomization",
          namespace: "shop",
          name: "apps",
          message: "Deployment shop/web is restored by Kustomization apps, which has not finished yet",
        },
      ]);
      expect(writeTexts(plan(site.observe(withFlux("off"))))).toEqual(["scale Deployment shop/web from 0 to 3"]);
    });

    test("gets its replicas if Flux did not restore them, and only loses the record otherwise", () => {
      const handled = { ...flux("apps", {}, requested), status: { lastHandledReconcileAt: "t1" } };
      const site = owned().put("Kustomization", handled);
      expect(writeTexts(plan(site.observe(withFlux())))).toEqual(["scale Deployment shop/web from 0 to 3"]);
      site.put("Deployment", deployment("web", { replicas: 2 }, inFluxWith()));
      expect(writeTexts(plan(site.observe(withFlux())))).toEqual(["forget the prior replicas of Deployment shop/web: it runs again"]);
    });

    test("does not wait for a Flux object that is missing, has no request, or was suspended by a user", () => {
      expect(writeTexts(plan(owned().observe(withFlux())))).toEqual(["scale Deployment shop/web from 0 to 3"]);
      expect(writeTexts(plan(owned().put("Kustomization", flux("apps")).observe(withFlux())))).toEqual([
        "scale Deployment shop/web from 0 to 3",
      ]);
      expect(
        writeTexts(
          plan(
            owned()
              .put("Kustomization", flux("apps", { suspend: true }, requested))
              .observe(withFlux()),
          ),
        ),
      ).toEqual(["scale Deployment shop/web from 0 to 3"]);
    });

    test("waits for one that cannot be read", () => {
      const site = owned();
      site.errors.add("Kustomization shop/apps");
      expect(writeTexts(plan(site.observe(withFlux())))).toEqual([]);
    });
  });
});
