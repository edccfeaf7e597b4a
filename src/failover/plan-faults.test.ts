import { describe, expect, test } from "vitest";
import type { FailoverPolicy, Role } from "../api/failover/failover-policy.ts";
import type { ManagedKind } from "../api/failover/policy-fields.ts";
import { plan, tokenFacts } from "./plan.ts";
import { shop, steps, writeTexts } from "./testing/harness.ts";
import { FakeSite } from "./testing/fake-site.ts";
import { autoscaler, cronJob, deployment, flux, job, named, policy, scaledObject, volume, VOLUME_CONDITIONS } from "./testing/fixtures.ts";
import { decideToken, type TokenDecision } from "./token/token.ts";

const KINDS: ManagedKind[] = ["Deployment", "StatefulSet", "CronJob", "VirtualService", "HelmRelease", "Kustomization"];

const data = (desiredState: Role, ...others: string[]) =>
  policy({ desiredState, managedResources: named("VolumeReplication data", ...others) });
const given = (mode: string) =>
  policy({ desiredState: "primary", mode, managedResources: named("VolumeReplication data", "Deployment web") });
const secondarySite = () => new FakeSite().put("VolumeReplication", volume("data", "secondary")).put("Kustomization", flux("apps"));
const withToken = (spec: FailoverPolicy, epoch: number, state: "Held" | "Released" = "Held") => ({
  ...spec,
  status: { token: { epoch, state } },
});

describe("a missing resource", () => {
  test.each(KINDS)("a missing %s is an error of its own and blocks nothing on the way to secondary", (kind) => {
    const site = new FakeSite().put("VolumeReplication", volume("data", "primary"));
    const first = plan(site.observe(data("secondary", `${kind} gone`)));
    expect(first.failures.map(({ reason, name }) => `${reason} ${name}`)).toEqual(["NotFound gone"]);
    expect(writeTexts(first)).toEqual(["demote VolumeReplication shop/data"]);
    site.put("VolumeReplication", volume("data", "secondary"));
    const done = plan(site.observe(data("secondary", `${kind} gone`)));
    expect(done.steps.every(({ state }) => state === "Done")).toBe(true);
    expect(done.complete).toBe(false);
    expect(done.requeueAfterMs).toBe(20_000);
    expect(done.resources[1]).toMatchObject({ state: "Not Found", error: `${kind} does not exist` });
  });

  test.each(KINDS.slice(3))("a missing kind %s fails that resource, and no policy that does not name it", (kind) => {
    const site = new FakeSite().put("VolumeReplication", volume("data", "secondary"));
    site.absentKinds.add(kind);
    expect(plan(site.observe(data("secondary", `${kind} web`))).failures.map(({ reason, message }) => `${reason}: ${message}`)).toEqual([
      `KindNotInstalled: This cluster does not serve kind ${kind}`,
    ]);
    expect(plan(site.observe(data("secondary"))).complete).toBe(true);
  });

  test("a missing VolumeReplication blocks no demotion, but DNS and workloads on the way to primary", () => {
    const site = new FakeSite()
      .put("VolumeReplication", volume("data", "primary"))
      .put("CronJob", cronJob("nightly", { suspend: true }, { annotations: { "plumbline.dev/failover-prior": '{"suspend":false}' } }))
      .put("VirtualService", { metadata: { name: "web", namespace: "shop" } });
    expect(writeTexts(plan(site.observe(data("secondary", "VolumeReplication gone"))))).toEqual(["demote VolumeReplication shop/data"]);
    site.put("VolumeReplication", volume("data", "secondary"));
    const up = plan(site.observe(data("primary", "VolumeReplication gone", "CronJob nightly", "VirtualService web")));
    expect(writeTexts(up)).toEqual(["promote VolumeReplication shop/data"]);
    expect(up.steps.find(({ name }) => name === "AwaitVolumes")?.waits.map(({ message }) => message)).toContain(
      "VolumeReplication gone does not exist",
    );
  });
});

describe("a resource that cannot be read", () => {
  test.each([
    "VolumeReplication shop/data",
    "VirtualService shop/web",
    "CronJob shop/nightly",
    "Deployment shop/api",
    "StatefulSet shop/data",
  ])("%s blocks the volumes in both directions, and earlier steps only if needed", (key) => {
    const run = shop();
    run.runToEnd();
    run.want({ desiredState: "secondary" });
    run.site.errors.add(key);
    for (let turn = 0; turn < 6; turn++) {
      run.pass();
      run.controllers.turn();
    }
    expect(run.site.all("VolumeReplication").map(({ spec }) => spec.replicationState)).toEqual(["primary", "primary"]);
    expect(run.site.get("Deployment", "web").spec.replicas).toBe(0);
    expect(run.plans.at(-1)?.failures.map(({ reason }) => reason)).toEqual(["ReadFailed"]);
    expect(run.plans.at(-1)?.requeueAfterMs).toBe(5_000);
    run.site.errors.clear();
    expect(run.runToEnd().complete).toBe(true);
  });

  test("for lack of permission is Forbidden", () => {
    const site = new FakeSite();
    const observed = site.observe(policy({ managedResources: named("Deployment web") }), {
      read: () => ({ error: "deployments is forbidden", code: "Forbidden" }),
    });
    expect(plan(observed).failures.map(({ reason }) => reason)).toEqual(["Forbidden"]);
  });
});

describe("unsafe mode", () => {
  test.each(["off", "OFF", "unsafe"])(
    "%s: everything is written in the first pass, in either direction, and complete is still only what was seen",
    (mode) => {
      const run = shop({ mode });
      run.runToEnd();
      run.want({ desiredState: "secondary" });
      const down = run.pass();
      expect(writeTexts(down)).toHaveLength(14);
      expect(writeTexts(down)).toContain("demote VolumeReplication shop/data");
      expect(down.complete).toBe(false);
      expect(run.pass().complete).toBe(false);
      run.runToEnd();
      run.want({ desiredState: "primary" });
      const up = run.pass();
      expect(writeTexts(up)).toHaveLength(14);
      expect(writeTexts(up)).toContain("scale Deployment shop/web from 0 to 3");
      expect(up.complete).toBe(false);
      expect(run.runToEnd().complete).toBe(true);
    },
  );

  test("an error of a volume is reported and blocks nothing", () => {
    const failed = volume("data", "primary", { conditions: [...VOLUME_CONDITIONS.promoteFailed], status: { state: "Secondary" } });
    const stopped = deployment("web", { replicas: 0 }, { annotations: { "plumbline.dev/failover-prior": '{"replicas":2}' } });
    const site = new FakeSite().put("VolumeReplication", failed).put("Deployment", stopped);
    expect(writeTexts(plan(site.observe(given("off"))))).toEqual(["scale Deployment shop/web from 0 to 2"]);
    expect(plan(site.observe(given("off"))).failures.map(({ reason }) => reason)).toEqual(["VolumeError"]);
    expect(writeTexts(plan(site.observe(given("on"))))).toEqual([]);
  });
});

describe("a rejection", () => {
  test.each([
    ["desiredState", { desiredState: "standby" as Role }, undefined],
    ["mode", { mode: "fast" }, undefined],
    ["an empty policy", { managedResources: [] }, undefined],
  ])("of %s writes nothing and is not retried", (_, spec, requeueAfterMs) => {
    const run = shop();
    run.want({ desiredState: "secondary", ...spec });
    const result = plan(run.site.observe(run.policy));
    expect(result.rejections.map(({ reason }) => reason)).toEqual(["Invalid"]);
    expect(result.steps).toEqual([]);
    expect(result.requeueAfterMs).toBe(requeueAfterMs);
  });

  test("for a resource of another policy names that policy, writes nothing, and still shows the plan", () => {
    const run = shop();
    run.want({ desiredState: "secondary" });
    const observed = run.site.observe(run.policy);
    const [, , web] = observed.managed;
    if (!web) throw new Error("no web");
    const result = plan({ ...observed, contested: [{ resource: web, holder: "shop/older" }] });
    expect(result.rejections.map(({ message }) => message)).toEqual([
      "Deployment shop/web is switched by FailoverPolicy shop/older, which claimed it first; remove it from one of the two policies",
    ]);
    expect(writeTexts(result)).toEqual([]);
    expect(result.steps.flatMap(({ writes }) => writes)).not.toEqual([]);
    expect(result.requeueAfterMs).toBe(20_000);
  });
});

const garbled = (rest: object = {}) => ({ annotations: { "plumbline.dev/failover-prior": "{", ...rest } });

describe("a prior-state annotation that cannot be parsed", () => {
  test("is replaced on the way to secondary, while the current value is known", () => {
    const site = new FakeSite()
      .put("Deployment", deployment("web", { replicas: 5 }, garbled()))
      .put("CronJob", cronJob("nightly", {}, { annotations: { "plumbline.dev/failover-prior": '{"policy":"shop/site","replicas":2}' } }));
    const result = plan(site.observe(policy({ managedResources: named("Deployment web", "CronJob nightly") })));
    const patches = result.steps.flatMap(({ writes }) => writes.map(({ patch }) => patch));
    expect(patches).toMatchObject([
      { metadata: { annotations: { "plumbline.dev/failover-prior": '{"policy":"shop/site","suspend":null}' } } },
      { metadata: { annotations: { "plumbline.dev/failover-prior": '{"policy":"shop/site","replicas":5}' } } },
    ]);
  });

  test("is reported on the way to primary, also of objects that the policy does not name", () => {
    const keda = scaledObject("web", "web", garbled({ "autoscaling.keda.sh/paused-replicas": "0" }));
    const hpa = autoscaler("web", "Deployment web", { behavior: { scaleUp: { selectPolicy: "Disabled" } } });
    hpa.metadata.annotations = garbled().annotations;
    const site = new FakeSite()
      .put("Deployment", deployment("web", { replicas: 0 }, garbled()))
      .put("CronJob", cronJob("nightly", { suspend: true }, garbled()))
      .put("Job", job("nightly-1", "nightly", { suspend: true }, garbled()))
      .put("HorizontalPodAutoscaler", hpa)
      .put("ScaledObject", keda);
    const result = plan(site.observe(policy({ desiredState: "primary", managedResources: named("Deployment web", "CronJob nightly") })));
    expect(result.failures.map(({ reason, kind, name }) => `${reason} ${kind} ${name}`)).toEqual([
      "Invalid Deployment web",
      "Invalid CronJob nightly",
      "Invalid Job nightly-1",
      "Invalid HorizontalPodAutoscaler web",
      "Invalid ScaledObject web",
    ]);
  });
});

describe("drift at rest", () => {
  test("is reverted on a secondary", () => {
    const run = shop();
    run.runToEnd();
    run.want({ desiredState: "secondary" });
    run.runToEnd();
    run.site.edit("Deployment", run.site.get("Deployment", "web"), ({ spec }) => {
      spec.replicas = 9;
    });
    run.site.edit("CronJob", run.site.get("CronJob", "nightly"), ({ spec }) => {
      spec.suspend = false;
    });
    const drifted = run.pass();
    expect(writeTexts(drifted)).toEqual(["suspend CronJob shop/nightly", "scale Deployment shop/web from 9 to 0"]);
    expect(drifted.complete).toBe(false);
    run.runToEnd();
    run.want({ desiredState: "primary" });
    run.runToEnd();
    expect(run.site.get("Deployment", "web").spec.replicas).toBe(3);
  });

  test("of workloads, CronJobs and Flux is ignored on a primary", () => {
    const run = shop();
    run.runToEnd();
    run.site.edit("Deployment", run.site.get("Deployment", "worker"), ({ spec }) => {
      spec.replicas = 0;
    });
    run.site.edit("Kustomization", run.site.get("Kustomization", "apps"), ({ spec }) => {
      spec.suspend = true;
    });
    expect(writeTexts(run.pass())).toEqual([]);
    expect(run.pass().complete).toBe(true);
  });
});

describe("with another site", () => {
  const peer = { kubeconfigSecret: { name: "peer", key: "kubeconfig" } };
  const decision: TokenDecision = { mayWrite: false, mustDemote: false, waits: [] };
  const waits = [{ kind: "FailoverPolicy", name: "site", message: "Waiting for the other site to release its token" }];
  const up = (mode = "on") =>
    policy({ desiredState: "primary", mode, peer, managedResources: named("VolumeReplication data", "Kustomization apps") });

  test.each(["on", "off"])("mode %s: nothing is written before the token is held", (mode) => {
    for (const token of [undefined, { ...decision, waits }]) {
      const result = plan(secondarySite().observe(up(mode)), token);
      expect(writeTexts(result)).toEqual([]);
      expect(steps(result)[0]).toBe("TakeToken Wait");
      expect(result.requeueAfterMs).toBe(5_000);
    }
    const taking = plan(secondarySite().observe(up(mode)), {
      ...decision,
      take: { epoch: 4, state: "Held" },
      forced: "the site burnt down",
    });
    expect(writeTexts(taking)).toEqual([]);
    expect(taking.steps[0]).toMatchObject({ name: "TakeToken", state: "Act", token: { epoch: 4, state: "Held" } });
    expect(taking.forced).toBe("the site burnt down");
    expect(writeTexts(plan(secondarySite().observe(up(mode)), { ...decision, mayWrite: true }))).toContain(
      "promote VolumeReplication shop/data",
    );
  });

  test("a switch to secondary ends with the release, and is not complete before it", () => {
    const down = withToken({ ...up(), spec: { ...up().spec, desiredState: "secondary" } }, 3);
    const at = secondarySite();
    const marking = plan(at.observe(down), decision);
    for (const write of marking.steps.filter(({ state }) => state === "Act").flatMap(({ writes }) => writes)) at.write(write);
    const marked = plan(at.observe(down), decision);
    for (const write of marked.steps.filter(({ state }) => state === "Act").flatMap(({ writes }) => writes)) at.write(write);
    const waiting = plan(at.observe(down), decision);
    expect(steps(waiting).at(-1)).toBe("ReleaseToken Wait");
    expect(waiting.complete).toBe(false);
    const releasing = plan(at.observe(down), { ...decision, release: { epoch: 3, state: "Released" } });
    expect(releasing.steps.at(-1)).toMatchObject({ name: "ReleaseToken", state: "Act", token: { epoch: 3, state: "Released" } });
    expect(plan(at.observe(withToken(down, 3, "Released")), decision).complete).toBe(true);
  });

  test("a site that was outranked before it promoted anything releases in the same pass", () => {
    const at = new FakeSite().put("VolumeReplication", volume("data", "secondary")).put("Kustomization", flux("apps", { suspend: true }));
    const peerView = { reachable: true, exists: true, desiredState: "primary", token: { epoch: 6, state: "Held" } } as const;
    const own = withToken(up(), 4);
    const observed = at.observe(own, { peer: peerView });
    const token = decideToken({ policy: own, mode: "safe", ...tokenFacts(observed), peer: peerView });
    const result = plan(observed, token);
    expect(writeTexts(result)).toEqual([]);
    expect(result.steps.filter(({ state }) => state === "Act").map((step) => step.token)).toEqual([
      { epoch: 4, state: "Released", copied: true },
    ]);
  });

  test("a site that was outranked becomes secondary first, whatever is desired, with an Error", () => {
    const at = secondarySite().put("VolumeReplication", volume("data", "primary"));
    const token = { reachable: true, exists: true, desiredState: "primary", token: { epoch: 5, state: "Held" } } as const;
    const result = plan(at.observe(withToken(up(), 3), { peer: token }), { ...decision, mustDemote: true, waits });
    expect(result.to).toBe("secondary");
    expect(result.failures.map(({ reason, message }) => `${reason}: ${message}`)).toEqual([
      "SplitBrain: The other site holds epoch 5; this site becomes secondary first",
    ]);
    expect(writeTexts(result)).toEqual(["suspend Kustomization shop/apps"]);
    expect(result.complete).toBe(false);
  });
});

const failureTexts = (failures: readonly { reason: string; field?: string; message: string }[]) =>
  failures.map(({ reason, field, message }) => `${reason} ${field}: ${message}`);

describe("a spec.peer that cannot work", () => {
  const wrong = {
    reachable: false,
    message: "Secret shop/west of spec.peer has no key kubeconfig",
    field: "spec.peer.kubeconfigSecret.key",
  } as const;
  const peer = { kubeconfigSecret: { name: "west", key: "kubeconfig" } };
  const invalid = [`PeerInvalid spec.peer.kubeconfigSecret.key: ${wrong.message}`];
  const paired = (spec: Partial<FailoverPolicy["spec"]>, status: FailoverPolicy["status"] = {}) => ({
    ...policy({ desiredState: "primary", managedResources: named("VolumeReplication data"), peer, ...spec }),
    status,
  });
  const planned = (spec: FailoverPolicy, site = secondarySite()) => {
    const observed = { ...site.observe(spec), peer: wrong };
    return plan(observed, decideToken({ policy: spec, mode: "safe", ...tokenFacts(observed), peer: wrong }));
  };

  test.each(["primary", "secondary"] as const)("rejects the switch to %s with the field, and writes nothing", (desiredState) => {
    const site = desiredState === "primary" ? secondarySite() : new FakeSite().put("VolumeReplication", volume("data", "primary"));
    const made = planned(paired({ desiredState }, { token: { epoch: 2, state: desiredState === "primary" ? "Released" : "Held" } }), site);
    expect(failureTexts(made.rejections)).toEqual(invalid);
    expect([writeTexts(made), made.steps.filter(({ state }) => state === "Act")]).toEqual([[], []]);
    expect(made.ready).toMatchObject({ status: "False", reason: "PeerInvalid" });
    // Nothing tells when the Secret changes.
    expect(made.requeueAfterMs).toBe(20_000);
  });

  test("is reported at rest: the site stays Complete and is not Ready", () => {
    const site = new FakeSite().put("VolumeReplication", volume("data", "primary"));
    const transition = {
      to: "primary" as const,
      mode: "safe" as const,
      generation: 1,
      startTime: "",
      completionTime: "2026-11-16T11:00:00Z",
      steps: [],
    };
    const made = planned(paired({}, { token: { epoch: 2, state: "Held" }, transition }), site);
    expect([made.rejections, failureTexts(made.failures), made.complete]).toEqual([[], invalid, true]);
    expect(made.ready).toMatchObject({ status: "False", reason: "PeerInvalid" });
  });

  test("does not stop a forced takeover after the token is taken, before the transition is in the status", () => {
    const force = { reason: "it is gone", epoch: 2, uid: "1" };
    const forced = paired({ force }, { token: { epoch: 3, state: "Held", forced: "it is gone" } });
    const made = planned({ ...forced, metadata: { ...forced.metadata, uid: "1" } });
    expect(made.rejections).toEqual([]);
    expect(writeTexts(made)).toEqual(["promote VolumeReplication shop/data"]);
  });

  test("is ignored by force", () => {
    const forced = paired({ force: { reason: "it is gone", epoch: 2, uid: "1" } }, { token: { epoch: 2, state: "Released" } });
    const made = planned({ ...forced, metadata: { ...forced.metadata, uid: "1" } });
    expect([made.rejections, failureTexts(made.failures)]).toEqual([[], invalid]);
    expect(made.steps[0]).toMatchObject({ name: "TakeToken", state: "Act", token: { epoch: 4, state: "Held" } });
  });
});

const viewOf = (token: { epoch: number; state: "Held" | "Released" }) =>
  ({
    reachable: true,
    exists: true,
    desiredState: "secondary",
    token,
    observedToken: { epoch: 6, state: "Released" },
    volumes: ["VolumeReplication data"],
  }) as const;

describe("a site that was restored from a backup", () => {
  const peer = { kubeconfigSecret: { name: "west", key: "kubeconfig" } };
  const planned = (desiredState: Role, token = { epoch: 5, state: "Released" as "Held" | "Released" }, force = false) => {
    const site = new FakeSite().put("VolumeReplication", volume("data", "primary"));
    const spec = policy({
      desiredState,
      managedResources: named("VolumeReplication data"),
      peer,
      ...(force && { force: { reason: "it burnt", epoch: 2, uid: "1" } }),
    });
    const restored: FailoverPolicy = { ...spec, metadata: { ...spec.metadata, uid: "1" }, status: { token: { epoch: 2, state: "Held" } } };
    const observed = { ...site.observe(restored), peer: viewOf(token) };
    return plan(observed, decideToken({ policy: restored, mode: "safe", ...tokenFacts(observed), peer: viewOf(token) }));
  };

  test("starts nothing and reports the token that the other site has seen", () => {
    const { rejections, steps: all, ready } = planned("primary");
    expect(rejections.map(({ reason, field, message }) => `${reason} ${field}: ${message}`)).toEqual([
      "Restored status.token: The token of this site is Held with epoch 2, and the other site has read it as Released with epoch 6: this cluster was restored from a backup. " +
        "Set desiredState secondary here; or, if the newest data is here and the other site does not write: plumbline failover switch site -n shop --to primary --force",
    ]);
    expect(all.filter(({ state }) => state === "Act")).toEqual([]);
    expect(ready).toMatchObject({ status: "False", reason: "Restored" });
  });

  test("becomes secondary if that is desired, or if the other site holds the token", () => {
    expect(writeTexts(planned("secondary"))).toEqual(["demote VolumeReplication shop/data"]);
    const outranked = planned("primary", { epoch: 7, state: "Held" });
    expect(outranked.to).toBe("secondary");
    expect(writeTexts(outranked)).toEqual(["demote VolumeReplication shop/data"]);
  });

  test("continues by force, with a higher epoch than the other site has seen", () => {
    const { rejections, steps: all } = planned("primary", undefined, true);
    expect(rejections).toEqual([]);
    expect(all[0]).toMatchObject({ name: "TakeToken", state: "Act", token: { epoch: 7, state: "Held" } });
  });
});
