import { describe, expect, test } from "vitest";
import { shop, steps, writeTexts } from "./testing/harness.ts";

describe("the spec's diagram of a switch to secondary, in safe mode", () => {
  test("goes Flux, DNS, CronJobs, workloads in one pass, waits 5 s at a time for what writes, demotes last, and looks again every 20 s", () => {
    const run = shop();
    run.runToEnd();
    run.want({ desiredState: "secondary" });

    const first = run.pass();
    expect(writeTexts(first)).toEqual([
      "suspend Kustomization shop/apps",
      "suspend HelmRelease shop/api",
      "set annotation external-dns.alpha.kubernetes.io/controller of VirtualService shop/web to ignore",
      "suspend CronJob shop/nightly",
      "suspend Job shop/nightly-1, a run of CronJob nightly",
      "scale Deployment shop/web from 3 to 0",
      "scale Deployment shop/api from 2 to 0",
      "scale Deployment shop/worker from 4 to 0",
      "scale StatefulSet shop/data from 2 to 0",
      "pause ScaledObject shop/worker at 0",
      "pause HorizontalPodAutoscaler shop/web",
      "pause HorizontalPodAutoscaler shop/api",
    ]);
    expect(steps(first)).toEqual([
      "SuspendFlux Act",
      "UpdateDNS Act",
      "SuspendCronJobs Act",
      "ScaleDown Act",
      "AwaitTermination Pending",
      "DemoteVolumes Pending",
      "AwaitVolumes Pending",
    ]);
    expect(first.requeueAfterMs).toBe(5_000);

    const second = run.pass();
    expect(steps(second)).toEqual([
      "SuspendFlux Done",
      "UpdateDNS Done",
      "SuspendCronJobs Done",
      "ScaleDown Done",
      "AwaitTermination Wait",
      "DemoteVolumes Pending",
      "AwaitVolumes Pending",
    ]);
    expect(writeTexts(second)).toEqual([]);
    expect(second.requeueAfterMs).toBe(5_000);

    run.controllers.turn();
    const terminating = run.pass();
    // The Deployments already say 0/0/0/0 here; their pods are still being terminated.
    expect(run.site.get("Deployment", "web").status?.replicas).toBe(0);
    expect(steps(terminating).slice(4)).toEqual(["AwaitTermination Wait", "DemoteVolumes Pending", "AwaitVolumes Pending"]);

    // The pods go, but a volume stays attached.
    for (const { metadata } of run.site.all("Pod")) run.site.delete("Pod", metadata.name);
    for (const kind of ["Deployment", "StatefulSet"] as const) {
      for (const workload of run.site.all(kind)) run.site.edit(kind, workload, ({ status = {} }) => Object.assign(status, { replicas: 0 }));
    }
    const attached = run.pass();
    expect(steps(attached).slice(4)).toEqual(["AwaitTermination Done", "DemoteVolumes Wait", "AwaitVolumes Pending"]);
    expect(attached.steps[5]?.waits[0]).toEqual({
      kind: "VolumeAttachment",
      name: "data",
      message: "Volume pv-data of VolumeReplication shop/data is still attached to node n1",
      node: "n1",
    });
    expect(attached.requeueAfterMs).toBe(5_000);

    run.controllers.turn();
    const demoting = run.pass();
    expect(writeTexts(demoting)).toEqual(["demote VolumeReplication shop/data", "demote VolumeReplication shop/cache"]);
    expect(steps(demoting).slice(4)).toEqual(["AwaitTermination Done", "DemoteVolumes Act", "AwaitVolumes Pending"]);

    const arriving = run.pass();
    expect(steps(arriving).slice(4)).toEqual(["AwaitTermination Done", "DemoteVolumes Done", "AwaitVolumes Wait"]);
    expect(arriving.complete).toBe(false);
    expect(arriving.requeueAfterMs).toBe(5_000);

    run.controllers.turn();
    const last = run.pass();
    expect(last.steps.every(({ state }) => state === "Done")).toBe(true);
    expect(last.complete).toBe(true);
    expect(last.currentState).toBe("secondary");
    expect(last.requeueAfterMs).toBe(20_000);
  });
});

describe("the spec's diagram of a switch to primary, in safe mode", () => {
  test("goes volumes, DNS, CronJobs in one pass, waits 5 s at a time for the volumes, resumes Flux last, and is over", () => {
    const run = shop();
    run.runToEnd();
    run.want({ desiredState: "secondary" });
    run.runToEnd();
    run.want({ desiredState: "primary" });

    const first = run.pass();
    expect(writeTexts(first)).toEqual([
      "promote VolumeReplication shop/data",
      "promote VolumeReplication shop/cache",
      "set annotation external-dns.alpha.kubernetes.io/controller of VirtualService shop/web to dns-controller",
      "resume CronJob shop/nightly",
    ]);
    expect(steps(first)).toEqual([
      "PromoteVolumes Act",
      "UpdateDNS Act",
      "ResumeCronJobs Act",
      "AwaitVolumes Pending",
      "ResumeJobs Pending",
      "ResumeFlux Pending",
      "RestoreWorkloads Pending",
      "AwaitWorkloads Pending",
    ]);
    expect(first.requeueAfterMs).toBe(5_000);

    const waiting = run.pass();
    expect(steps(waiting)).toEqual([
      "PromoteVolumes Done",
      "UpdateDNS Done",
      "ResumeCronJobs Done",
      "AwaitVolumes Wait",
      "ResumeJobs Pending",
      "ResumeFlux Pending",
      "RestoreWorkloads Pending",
      "AwaitWorkloads Pending",
    ]);
    expect(writeTexts(waiting)).toEqual([]);
    expect(waiting.requeueAfterMs).toBe(5_000);

    run.controllers.turn();
    const resuming = run.pass();
    expect(writeTexts(resuming)).toEqual([
      "resume Job shop/nightly-1",
      "resume Kustomization shop/apps and request a reconciliation",
      "resume HelmRelease shop/api and request a reconciliation",
      "resume ScaledObject shop/worker",
      "resume HorizontalPodAutoscaler shop/web",
      "resume HorizontalPodAutoscaler shop/api",
      "scale Deployment shop/worker from 0 to 4",
      "scale StatefulSet shop/data from 0 to 2",
    ]);

    const requested = run.pass();
    expect(steps(requested).slice(3)).toEqual([
      "AwaitVolumes Done",
      "ResumeJobs Done",
      "ResumeFlux Wait",
      "RestoreWorkloads Wait",
      "AwaitWorkloads Pending",
    ]);
    expect(requested.requeueAfterMs).toBe(5_000);

    run.controllers.turn();
    // Git has the replicas of web; those of api are only in the annotation.
    expect(writeTexts(run.pass())).toEqual([
      "forget the prior replicas of Deployment shop/web: it runs again",
      "scale Deployment shop/api from 0 to 2",
    ]);

    const starting = run.pass();
    expect(steps(starting).slice(6)).toEqual(["RestoreWorkloads Done", "AwaitWorkloads Wait"]);
    expect(starting.complete).toBe(false);
    expect(starting.requeueAfterMs).toBe(5_000);

    run.controllers.turn();
    const last = run.pass();
    expect(last.complete).toBe(true);
    expect(last.currentState).toBe("primary");
    expect(last.requeueAfterMs).toBeUndefined();
  });
});
