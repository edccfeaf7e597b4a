import type { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import { plan as planOf } from "../plan.ts";
import { report } from "../report.ts";
import { FakeControllers } from "./fake-controllers.ts";
import { FakeSite } from "./fake-site.ts";
import { autoscaler, cronJob, deployment, flux, job, named, policy, scaledObject, statefulSet, volume } from "./fixtures.ts";
import type { SwitchPlan } from "../steps/step.ts";

/** For tests: a policy at a site with controllers, passed over again and again. */
export class TransitionHarness {
  readonly site = new FakeSite();
  readonly controllers = new FakeControllers(this.site);
  readonly plans: SwitchPlan[] = [];
  policy: FailoverPolicy;
  /** The number of writes until the controller dies; its successor plans from scratch. */
  writesToLive = Infinity;
  writes = 0;

  constructor(initial: FailoverPolicy) {
    this.policy = initial;
  }

  want(spec: Partial<FailoverPolicy["spec"]>): void {
    const { metadata } = this.policy;
    this.policy = {
      ...this.policy,
      metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 },
      spec: { ...this.policy.spec, ...spec },
    };
  }

  /** One pass without concurrent changes. */
  pass(): SwitchPlan {
    const planned = planOf(this.site.observe(this.policy));
    this.plans.push(planned);
    for (const write of planned.steps.filter(({ state }) => state === "Act").flatMap(({ writes }) => writes)) {
      this.site.write(write);
      this.writes++;
      if (--this.writesToLive === 0) return planned;
    }
    const status = report(this.policy.status, this.policy, planned, { failures: [] }, this.site.now);
    this.policy = { ...this.policy, status };
    return planned;
  }

  /** Until it is complete, with everybody else doing their work between two passes. */
  runToEnd(turns = 40): SwitchPlan {
    for (let turn = 0; turn < turns; turn++) {
      const planned = this.pass();
      if (planned.complete) return planned;
      this.controllers.turn();
      this.site.now = new Date(this.site.now.getTime() + 5_000);
    }
    throw new Error(`not complete: ${JSON.stringify(this.policy.status?.summary)}`);
  }
}

/** `ScaleDown Wait` */
export function steps(plan: SwitchPlan): string[] {
  return plan.steps.map(({ name, state }) => `${name} ${state}`);
}

/** What is to be written now. */
export function writeTexts(plan: SwitchPlan): string[] {
  return plan.steps.filter(({ state }) => state === "Act").flatMap(({ writes }) => writes.map((write) => write.description));
}

/** The labels of what a Flux object looks after. */
export function inFlux(kind: "kustomize" | "helm", name: string): { labels: Record<string, string> } {
  return { labels: { [`${kind}.toolkit.fluxcd.io/name`]: name, [`${kind}.toolkit.fluxcd.io/namespace`]: "shop" } };
}

/** A site with one of everything, running as the primary. */
export function shop(spec: Partial<FailoverPolicy["spec"]> = {}): TransitionHarness {
  const managedResources = named(
    "VolumeReplication data",
    "VolumeReplication cache",
    "Deployment web",
    "Deployment api",
    "Deployment worker",
    "StatefulSet data",
    "CronJob nightly",
    "CronJob weekly",
    "VirtualService web",
    "HelmRelease api",
    "Kustomization apps",
  );
  const run = new TransitionHarness(policy({ desiredState: "primary", managedResources, ...spec }));
  const { site, controllers } = run;
  site
    .put("VolumeReplication", volume("data", "primary", { status: { lastSyncTime: "2026-11-16T11:58:00Z" } }))
    .put("VolumeReplication", volume("cache", "primary", { status: { lastSyncTime: "2026-11-16T11:59:00Z" } }))
    .put("Deployment", deployment("web", { replicas: 3 }, inFlux("kustomize", "apps")))
    .put("Deployment", deployment("api", { replicas: 2 }, inFlux("helm", "api")))
    .put("Deployment", deployment("worker", { replicas: 4 }))
    .put("StatefulSet", statefulSet("data", { replicas: 2 }))
    .put("CronJob", cronJob("nightly", { suspend: false }), cronJob("weekly", { suspend: true }))
    .put("Job", job("nightly-1", "nightly"))
    .put("VirtualService", { metadata: { name: "web", namespace: "shop", resourceVersion: "1", annotations: { team: "shop" } } })
    .put("HelmRelease", flux("api"))
    .put("Kustomization", flux("apps", { suspend: false }))
    .put("HorizontalPodAutoscaler", autoscaler("web", "Deployment web"))
    .put("HorizontalPodAutoscaler", autoscaler("api", "Deployment api", { behavior: { scaleUp: { selectPolicy: "Min" } } }))
    .put("ScaledObject", scaledObject("worker", "worker"))
    .put("PersistentVolumeClaim", claim("data"), claim("cache"));
  controllers.claims.set("data", "data").set("web", "cache");
  controllers.git.set("web", 3);
  controllers.turn();
  return run;
}

function claim(name: string) {
  return { metadata: { name, namespace: "shop" }, spec: { volumeName: `pv-${name}` } };
}
