import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { KubeObject } from "../api/kind.ts";
import { plan } from "./plan.ts";
import { report } from "./report.ts";
import { shop, type TransitionHarness } from "./testing/harness.ts";
import { FakeSite } from "./testing/fake-site.ts";
import { condition, deployment, flux, named, pod, policy, volume } from "./testing/fixtures.ts";

const seed = 8;
const maybe = fc.boolean();
/** The first one mostly, so that a case with many parts is not always spoilt by one of them. */
const mostly = <T>(usual: T, ...others: T[]) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) });

/** Anything that a site can look like, half-way states and contradictions included. */
const anySite = fc
  .record({
    volumes: fc.array(
      fc.record({
        spec: fc.constantFrom("primary", "secondary", "resync"),
        state: fc.constantFrom("Primary", "Secondary", "Unknown"),
        generation: mostly(1, 2),
        completed: mostly("True", "False"),
        pod: mostly<{ terminating: boolean; phase: "Running" | "Succeeded" | "Failed" } | null>(
          null,
          { terminating: false, phase: "Running" },
          { terminating: true, phase: "Running" },
          { terminating: false, phase: "Succeeded" },
          { terminating: true, phase: "Failed" },
        ),
        attached: mostly(false, true),
        bound: mostly(true, false),
      }),
      { minLength: 1, maxLength: 3 },
    ),
    replicas: mostly(0, 1, 2),
    counted: mostly(0, 1),
    suspend: mostly<boolean | undefined>(true, undefined, false),
    busy: mostly(false, true),
    errors: mostly<string[]>(
      [],
      ["Pod shop"],
      ["PersistentVolumeClaim shop"],
      ["VolumeAttachment"],
      ["HorizontalPodAutoscaler shop"],
      ["ScaledObject shop"],
      ["VolumeReplication shop/v0"],
      ["Deployment shop/web"],
      ["Kustomization shop/apps"],
      ["VirtualService shop/web"],
    ),
    mode: mostly("on", "off"),
    to: fc.constantFrom("primary" as const, "secondary" as const),
  })
  .map((shape) => {
    const site = new FakeSite();
    shape.volumes.forEach(({ spec, state, generation, completed, pod: mounting, attached, bound }, at) => {
      const name = `v${at}`;
      const conditions = [condition("Completed", completed as "True", "Promoted")];
      const status = { state: state as "Primary", conditions, observedGeneration: 1 };
      site.put("VolumeReplication", volume(name, spec as "primary", { metadata: { generation }, status }));
      site.put("PersistentVolumeClaim", { metadata: { name, namespace: "shop" }, spec: bound ? { volumeName: `pv-${at}` } : {} });
      if (mounting) {
        const gone = mounting.terminating ? { deletionTimestamp: "2026-11-16T12:00:30Z" } : {};
        site.put("Pod", pod(`other-${at}`, { claim: name, labels: {}, ...gone }, mounting.phase));
      }
      if (attached) {
        site.put("VolumeAttachment", {
          metadata: { name },
          spec: { attacher: "csi", nodeName: "n1", source: { persistentVolumeName: `pv-${at}` } },
        });
      }
    });
    const web = deployment("web", { replicas: shape.replicas });
    site.put("Deployment", { ...web, status: { observedGeneration: 1, replicas: shape.counted } });
    const apps = flux("apps", shape.suspend === undefined ? {} : { suspend: shape.suspend });
    const conditions = shape.busy ? [condition("Reconciling", "True", "Progressing")] : [];
    site.put("Kustomization", { ...apps, status: { conditions } });
    site.put("VirtualService", { metadata: { name: "web", namespace: "shop" } });
    for (const error of shape.errors) site.errors.add(error);
    const volumes = shape.volumes.map((_, at) => `VolumeReplication v${at}`);
    const managedResources = named(...volumes, "Deployment web", "Kustomization apps", "VirtualService web");
    return { shape, site, policy: policy({ desiredState: shape.to, mode: shape.mode, managedResources }) };
  });

describe("from any state in safe mode", () => {
  test("no volume is demoted while a pod mounts a claim, an attachment remains, anything runs or starts, or a read fails", () => {
    let demotions = 0;
    fc.assert(
      fc.property(anySite, ({ shape, site, policy: given }) => {
        const { steps, mode } = plan(site.observe(given));
        const demoted = steps
          .filter(({ state }) => state === "Act")
          .flatMap(({ writes }) => writes.filter(({ description }) => description.startsWith("demote")));
        if (mode === "unsafe" || demoted.length === 0) return;
        demotions++;
        expect(shape.to).toBe("secondary");
        expect(shape.errors).toEqual([]);
        expect([shape.replicas, shape.counted, shape.suspend, shape.busy]).toEqual([0, 0, true, false]);
        for (const { pod: mounting, attached, bound } of shape.volumes) {
          expect(mounting !== null && (mounting.terminating || mounting.phase === "Running")).toBe(false);
          expect(attached || !bound).toBe(false);
        }
      }),
      { seed, numRuns: 2_400 },
    );
    expect(demotions).toBeGreaterThan(50);
  });

  test("no workload is restored while a volume is not known to be primary", () => {
    const late = new Set(["ResumeJobs", "ResumeFlux", "RestoreWorkloads"]);
    fc.assert(
      fc.property(anySite, ({ shape, site, policy: given }) => {
        if (shape.to === "secondary" || shape.mode === "off") return;
        const acting = plan(site.observe(given)).steps.filter(({ name, state }) => state === "Act" && late.has(name));
        const areUp = shape.volumes.every(
          ({ spec, state, generation, completed }) => spec === "primary" && state === "Primary" && generation === 1 && completed === "True",
        );
        expect(acting.length === 0 || (areUp && !shape.errors.includes("VolumeReplication shop/v0"))).toBe(true);
      }),
      { seed, numRuns: 400 },
    );
  });

  test("a plan writes every object at most once, and never deletes or resyncs", () => {
    fc.assert(
      fc.property(anySite, ({ site, policy: given }) => {
        const writes = plan(site.observe(given)).steps.flatMap((step) => step.writes);
        const objects = writes.map(({ kind, object }) => `${kind.kind} ${object.metadata.name}`);
        expect(new Set(objects).size).toBe(objects.length);
        for (const { patch } of writes) expect(JSON.stringify(patch)).not.toMatch(/resync|deletion|finalizers/i);
      }),
      { seed, numRuns: 200 },
    );
  });
});

/** One of everything, with what can differ from site to site. */
const anyRun = fc
  .record({
    mode: fc.constantFrom("on", "off"),
    replicas: fc.tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 3 })),
    suspend: fc.tuple(...Array.from({ length: 4 }, () => fc.constantFrom(undefined, false, true))),
    inGit: maybe,
    selectPolicy: fc.constantFrom(undefined, "Max", "Min", "Disabled"),
    paused: fc.constantFrom(undefined, "0", "2"),
  })
  .map(({ mode, replicas, suspend, inGit, selectPolicy, paused }) => {
    const run = shop({ mode });
    const { site, controllers } = run;
    controllers.git.clear();
    for (const [at, name] of (["web", "api", "worker"] as const).entries()) {
      const count = replicas[at] ?? 0;
      site.edit("Deployment", site.get("Deployment", name), ({ spec }) => {
        spec.replicas = count;
      });
      if (inGit) controllers.git.set(name, count);
    }
    const flags = [
      ["CronJob", "nightly"],
      ["Job", "nightly-1"],
      ["HelmRelease", "api"],
      ["Kustomization", "apps"],
    ] as const;
    for (const [at, [kind, name]] of flags.entries()) {
      site.edit(kind, site.get(kind, name), ({ spec }) => {
        delete spec.suspend;
        const value = suspend[at];
        if (value !== undefined) spec.suspend = value;
      });
    }
    site.edit("HorizontalPodAutoscaler", site.get("HorizontalPodAutoscaler", "web"), ({ spec }) => {
      if (selectPolicy) spec.behavior = { scaleUp: { selectPolicy: selectPolicy } };
    });
    site.edit("ScaledObject", site.get("ScaledObject", "worker"), ({ metadata }) => {
      if (paused !== undefined) metadata.annotations = { "autoscaling.keda.sh/paused-replicas": paused };
    });
    controllers.turn();
    run.runToEnd();
    return run;
  });

/** What a person put there: spec and annotations, but for what says where names lead and what Flux was last asked. */
function essence({ site }: TransitionHarness): Record<string, unknown> {
  const kept = [...site.objects].filter(([key]) => !key.startsWith("Pod") && !key.startsWith("VolumeAttachment"));
  return Object.fromEntries(
    kept.map(([key, { object }]) => [key, { spec: (object as { spec?: unknown }).spec, annotations: annotationsOf(object) }]),
  );
}

function annotationsOf({ metadata: { annotations = {} } }: KubeObject): Record<string, string> {
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => !key.startsWith("reconcile.fluxcd.io/")));
}

describe("a simulated site", () => {
  test("reaches the desired role, and after the switch back to primary every field is restored", () => {
    fc.assert(
      fc.property(anyRun, (run) => {
        const before = essence(run);
        run.want({ desiredState: "secondary" });
        run.runToEnd();
        expect(run.site.all("Pod")).toEqual([]);
        expect(run.site.all("VolumeReplication").map(({ status }) => status?.state)).toEqual(["Secondary", "Secondary"]);
        run.want({ desiredState: "primary" });
        run.runToEnd();
        expect(essence(run)).toEqual(before);
      }),
      { seed, numRuns: 20 },
    );
  });

  test("reaches the same state if the controller dies after any write, in both directions", () => {
    fc.assert(
      fc.property(anyRun, fc.integer({ min: 1, max: 14 }), fc.integer({ min: 1, max: 14 }), (run, down, up) => {
        const before = essence(run);
        run.want({ desiredState: "secondary" });
        run.writesToLive = down;
        run.runToEnd();
        run.want({ desiredState: "primary" });
        run.writesToLive = up;
        run.runToEnd();
        expect(essence(run)).toEqual(before);
      }),
      { seed, numRuns: 25 },
    );
  });

  test("survives any number of role changes in the middle, with and without crashes", () => {
    const flip = fc.record({
      to: fc.constantFrom("primary" as const, "secondary" as const),
      passes: fc.integer({ min: 0, max: 4 }),
      turns: maybe,
      dies: fc.integer({ min: 1, max: 20 }),
    });
    fc.assert(
      fc.property(anyRun, fc.array(flip, { maxLength: 5 }), (run, flips) => {
        const before = essence(run);
        for (const { to, passes, turns, dies } of flips) {
          run.want({ desiredState: to });
          run.writesToLive = dies;
          for (let pass = 0; pass < passes; pass++) {
            run.pass();
            if (turns) run.controllers.turn();
          }
        }
        run.want({ desiredState: "secondary" });
        run.runToEnd();
        run.want({ desiredState: "primary" });
        run.runToEnd();
        expect(essence(run)).toEqual(before);
      }),
      { seed, numRuns: 25 },
    );
  });

  test("is not written once it has the desired role, nor is its status", () => {
    fc.assert(
      fc.property(anyRun, fc.constantFrom("primary" as const, "secondary" as const), (run, to) => {
        run.want({ desiredState: to });
        run.runToEnd();
        run.controllers.turn();
        run.pass();
        const { status } = run.policy;
        const { writes } = run;
        const again = plan(run.site.observe(run.policy));
        expect(again.steps.flatMap((step) => step.writes)).toEqual([]);
        expect(report(status, run.policy, again, { failures: [] }, new Date("2027-01-01"))).toEqual(status);
        expect(run.writes).toBe(writes);
      }),
      { seed, numRuns: 15 },
    );
  });
});
