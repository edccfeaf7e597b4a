import { describe, expect, test } from "vitest";
import type { FailoverPolicy, ManagedKind, Role } from "../api/failover/failover-policy.ts";
import { plan, tokenFacts } from "./plan.ts";
import { shop, steps, words } from "./testing/harness.ts";
import { SpecimenSite } from "./testing/fake-site.ts";
import { autoscaler, cronJob, deployment, flux, job, named, policy, scaledObject, volume, VOLUME_CONDITIONS } from "./testing/fixtures.ts";
import { decideToken, type TokenDecision } from "./token/token.ts";

const KINDS: ManagedKind[] = ["Deployment", "StatefulSet", "CronJob", "VirtualService", "HelmRelease", "Kustomization"];

const data = (desiredState: Role, ...others: string[]) =>
  policy({ desiredState, managedResources: named("VolumeReplication data", ...others) });
const given = (mode: string) =>
  policy({ desiredState: "primary", mode, managedResources: named("VolumeReplication data", "Deployment web") });
const secondarySite = () => new SpecimenSite().put("VolumeReplication", volume("data", "secondary")).put("Kustomization", flux("apps"));
const held = (spec: FailoverPolicy, epoch: number, state: "Held" | "Released" = "Held") => ({
  ...spec,
  status: { token: { epoch, state } },
});

describe("something that is missing", () => {
  test.each(KINDS)("a %s is an error of its own and holds nobody up on the way to secondary", (kind) => {
    const site = new SpecimenSite().put("VolumeReplication", volume("data", "primary"));
    const first = plan(site.observe(data("secondary", `${kind} gone`)));
    expect(first.failures.map(({ reason, name }) => `${reason} ${name}`)).toEqual(["NotFound gone"]);
    expect(words(first)).toEqual(["demote VolumeReplication shop/data"]);
    site.put("VolumeReplication", volume("data", "secondary"));
    const done = plan(site.observe(data("secondary", `${kind} gone`)));
    expect(done.steps.every(({ state }) => state === "Done")).toBe(true);
    expect(done.complete).toBe(false);
    expect(done.requeueAfterMs).toBe(20_000);
    expect(done.resources[1]).toMatchObject({ state: "Not Found", error: `${kind} does not exist` });
  });

  test.each(KINDS.slice(3))("the kind %s is a failure of that resource, and none of a policy that does not name it", (kind) => {
    const site = new SpecimenSite().put("VolumeReplication", volume("data", "secondary"));
    site.absentKinds.add(kind);
    expect(plan(site.observe(data("secondary", `${kind} web`))).failures.map(({ reason, message }) => `${reason}: ${message}`)).toEqual([
      `KindNotInstalled: This cluster does not know the kind ${kind}`,
    ]);
    expect(plan(site.observe(data("secondary"))).complete).toBe(true);
  });

  test("a VolumeReplication holds up no demotion of others, and without it nobody is led here and nothing comes back", () => {
    const site = new SpecimenSite()
      .put("VolumeReplication", volume("data", "primary"))
      .put("CronJob", cronJob("nightly", { suspend: true }, { annotations: { "plumbline.dev/failover-prior": '{"suspend":false}' } }))
      .put("VirtualService", { metadata: { name: "web", namespace: "shop" } });
    expect(words(plan(site.observe(data("secondary", "VolumeReplication gone"))))).toEqual(["demote VolumeReplication shop/data"]);
    site.put("VolumeReplication", volume("data", "secondary"));
    const up = plan(site.observe(data("primary", "VolumeReplication gone", "CronJob nightly", "VirtualService web")));
    expect(words(up)).toEqual(["promote VolumeReplication shop/data"]);
    expect(up.steps.find(({ name }) => name === "AwaitVolumes")?.waits.map(({ message }) => message)).toContain(
      "VolumeReplication gone does not exist",
    );
  });
});

describe("something that cannot be looked at", () => {
  test.each([
    "VolumeReplication shop/data",
    "VirtualService shop/web",
    "CronJob shop/nightly",
    "Deployment shop/api",
    "StatefulSet shop/data",
  ])("%s holds up the volumes in either direction, and what comes before them only where it has to", (key) => {
    const run = shop();
    run.settle();
    run.want({ desiredState: "secondary" });
    run.site.errors.add(key);
    for (let turn = 0; turn < 6; turn++) {
      run.pass();
      run.controllers.turn();
    }
    expect(run.site.all("VolumeReplication").map(({ spec }) => spec.replicationState)).toEqual(["primary", "primary"]);
    expect(run.site.get("Deployment", "web").spec.replicas).toBe(0);
    expect(run.plans.at(-1)?.failures.map(({ reason }) => reason)).toEqual(["LookFailed"]);
    expect(run.plans.at(-1)?.requeueAfterMs).toBe(5_000);
    run.site.errors.clear();
    expect(run.settle().complete).toBe(true);
  });

  test("for want of rights is Forbidden", () => {
    const site = new SpecimenSite();
    const observed = site.observe(policy({ managedResources: named("Deployment web") }), {
      look: () => ({ error: "deployments is forbidden", code: "Forbidden" }),
    });
    expect(plan(observed).failures.map(({ reason }) => reason)).toEqual(["Forbidden"]);
  });
});

describe("unsafe mode", () => {
  test.each(["off", "OFF", "unsafe"])(
    "%s: everything is written in the first pass, in either direction, and complete is still only what was seen",
    (mode) => {
      const run = shop({ mode });
      run.settle();
      run.want({ desiredState: "secondary" });
      const down = run.pass();
      expect(words(down)).toHaveLength(14);
      expect(words(down)).toContain("demote VolumeReplication shop/data");
      expect(down.complete).toBe(false);
      expect(run.pass().complete).toBe(false);
      run.settle();
      run.want({ desiredState: "primary" });
      const up = run.pass();
      expect(words(up)).toHaveLength(14);
      expect(words(up)).toContain("scale Deployment shop/web from 0 to 3");
      expect(up.complete).toBe(false);
      expect(run.settle().complete).toBe(true);
    },
  );

  test("an error of a volume is told, and stops nothing", () => {
    const failed = volume("data", "primary", { conditions: [...VOLUME_CONDITIONS.promoteFailed], status: { state: "Secondary" } });
    const stopped = deployment("web", { replicas: 0 }, { annotations: { "plumbline.dev/failover-prior": '{"replicas":2}' } });
    const site = new SpecimenSite().put("VolumeReplication", failed).put("Deployment", stopped);
    expect(words(plan(site.observe(given("off"))))).toEqual(["scale Deployment shop/web from 0 to 2"]);
    expect(plan(site.observe(given("off"))).failures.map(({ reason }) => reason)).toEqual(["VolumeError"]);
    expect(words(plan(site.observe(given("on"))))).toEqual([]);
  });
});

describe("a refusal", () => {
  test.each([
    ["desiredState", { desiredState: "standby" as Role }, undefined],
    ["mode", { mode: "fast" }, undefined],
    ["an empty policy", { managedResources: [] }, undefined],
  ])("of %s writes nothing and is not tried again by itself", (_, spec, requeueAfterMs) => {
    const run = shop();
    run.want({ desiredState: "secondary", ...spec });
    const result = plan(run.site.observe(run.policy));
    expect(result.refusals.map(({ reason }) => reason)).toEqual(["Invalid"]);
    expect(result.steps).toEqual([]);
    expect(result.requeueAfterMs).toBe(requeueAfterMs);
  });

  test("of what another policy has names that one, writes nothing, and still says what would be written", () => {
    const run = shop();
    run.want({ desiredState: "secondary" });
    const observed = run.site.observe(run.policy);
    const [, , web] = observed.managed;
    if (!web) throw new Error("no web");
    const result = plan({ ...observed, contested: [{ resource: web, holder: "shop/older" }] });
    expect(result.refusals.map(({ message }) => message)).toEqual([
      "Deployment shop/web is switched by FailoverPolicy shop/older, which asked for it first",
    ]);
    expect(words(result)).toEqual([]);
    expect(result.steps.flatMap(({ writes }) => writes)).not.toEqual([]);
    expect(result.requeueAfterMs).toBe(20_000);
  });
});

const garbled = (rest: object = {}) => ({ annotations: { "plumbline.dev/failover-prior": "{", ...rest } });

describe("a memory that nobody can read", () => {
  test("is replaced on the way to secondary, while what there is can still be seen", () => {
    const site = new SpecimenSite()
      .put("Deployment", deployment("web", { replicas: 5 }, garbled()))
      .put("CronJob", cronJob("nightly", {}, { annotations: { "plumbline.dev/failover-prior": '{"policy":"shop/site","replicas":2}' } }));
    const result = plan(site.observe(policy({ managedResources: named("Deployment web", "CronJob nightly") })));
    const patches = result.steps.flatMap(({ writes }) => writes.map(({ patch }) => patch));
    expect(patches).toMatchObject([
      { metadata: { annotations: { "plumbline.dev/failover-prior": '{"policy":"shop/site","suspend":null}' } } },
      { metadata: { annotations: { "plumbline.dev/failover-prior": '{"policy":"shop/site","replicas":5}' } } },
    ]);
  });

  test("is told on the way to primary, also of what the policy does not name itself", () => {
    const keda = scaledObject("web", "web", garbled({ "autoscaling.keda.sh/paused-replicas": "0" }));
    const hpa = autoscaler("web", "Deployment web", { behavior: { scaleUp: { selectPolicy: "Disabled" } } });
    hpa.metadata.annotations = garbled().annotations;
    const site = new SpecimenSite()
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
  test("as a secondary, everything is put right again", () => {
    const run = shop();
    run.settle();
    run.want({ desiredState: "secondary" });
    run.settle();
    run.site.edit("Deployment", run.site.get("Deployment", "web"), ({ spec }) => {
      spec.replicas = 9;
    });
    run.site.edit("CronJob", run.site.get("CronJob", "nightly"), ({ spec }) => {
      spec.suspend = false;
    });
    const drifted = run.pass();
    expect(words(drifted)).toEqual(["suspend CronJob shop/nightly", "scale Deployment shop/web from 9 to 0"]);
    expect(drifted.complete).toBe(false);
    run.settle();
    run.want({ desiredState: "primary" });
    run.settle();
    expect(run.site.get("Deployment", "web").spec.replicas).toBe(3);
  });

  test("as a primary, workloads, CronJobs and Flux are their owners' business", () => {
    const run = shop();
    run.settle();
    run.site.edit("Deployment", run.site.get("Deployment", "worker"), ({ spec }) => {
      spec.replicas = 0;
    });
    run.site.edit("Kustomization", run.site.get("Kustomization", "apps"), ({ spec }) => {
      spec.suspend = true;
    });
    expect(words(run.pass())).toEqual([]);
    expect(run.pass().complete).toBe(true);
  });
});

describe("with another site", () => {
  const peer = { kubeconfigSecret: { name: "peer", key: "kubeconfig" } };
  const decision: TokenDecision = { mayWrite: false, mustDemote: false, waits: [] };
  const waits = [{ kind: "FailoverPolicy", name: "site", message: "The other site has not released yet" }];
  const up = (mode = "on") =>
    policy({ desiredState: "primary", mode, peer, managedResources: named("VolumeReplication data", "Kustomization apps") });

  test.each(["on", "off"])("mode %s: nothing at all is written before the token is ours", (mode) => {
    for (const token of [undefined, { ...decision, waits }]) {
      const result = plan(secondarySite().observe(up(mode)), token);
      expect(words(result)).toEqual([]);
      expect(steps(result)[0]).toBe("TakeToken Wait");
      expect(result.requeueAfterMs).toBe(5_000);
    }
    const taking = plan(secondarySite().observe(up(mode)), {
      ...decision,
      take: { epoch: 4, state: "Held" },
      forced: "the site burnt down",
    });
    expect(words(taking)).toEqual([]);
    expect(taking.steps[0]).toMatchObject({ name: "TakeToken", state: "Act", token: { epoch: 4, state: "Held" } });
    expect(taking.forced).toBe("the site burnt down");
    expect(words(plan(secondarySite().observe(up(mode)), { ...decision, mayWrite: true }))).toContain(
      "promote VolumeReplication shop/data",
    );
  });

  test("a switch to secondary ends with the release, and is not complete before it", () => {
    const down = held({ ...up(), spec: { ...up().spec, desiredState: "secondary" } }, 3);
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
    expect(plan(at.observe(held(down, 3, "Released")), decision).complete).toBe(true);
  });

  test("a site that was outranked before it promoted anything lets go all the same: the line may be cut before the next pass", () => {
    const at = new SpecimenSite()
      .put("VolumeReplication", volume("data", "secondary"))
      .put("Kustomization", flux("apps", { suspend: true }));
    const peerView = { reachable: true, exists: true, desiredState: "primary", token: { epoch: 6, state: "Held" } } as const;
    const own = held(up(), 4);
    const observed = at.observe(own, { peer: peerView });
    const token = decideToken({ policy: own, mode: "safe", ...tokenFacts(observed), peer: peerView });
    const result = plan(observed, token);
    expect(words(result)).toEqual([]);
    expect(result.steps.filter(({ state }) => state === "Act").map((step) => step.token)).toEqual([
      { epoch: 4, state: "Released", copied: true },
    ]);
  });

  test("a site that was outranked is made a secondary first, whatever is wanted, and says so", () => {
    const at = secondarySite().put("VolumeReplication", volume("data", "primary"));
    const token = { reachable: true, exists: true, desiredState: "primary", token: { epoch: 5, state: "Held" } } as const;
    const result = plan(at.observe(held(up(), 3), { peer: token }), { ...decision, mustDemote: true, waits });
    expect(result.to).toBe("secondary");
    expect(result.failures.map(({ reason, message }) => `${reason}: ${message}`)).toEqual([
      "Split: The other site holds epoch 5; this site is made a secondary before anything else",
    ]);
    expect(words(result)).toEqual(["suspend Kustomization shop/apps"]);
    expect(result.complete).toBe(false);
  });
});
