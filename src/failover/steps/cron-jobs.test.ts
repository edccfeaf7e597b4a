import { describe, expect, test } from "vitest";
import type { Role } from "../../api/failover/failover-policy.ts";
import { plan } from "../plan.ts";
import { steps, writeTexts } from "../testing/harness.ts";
import { FakeSite } from "../testing/fake-site.ts";
import { cronJob, job, named, pod, policy } from "../testing/fixtures.ts";

const PRIOR = "plumbline.dev/failover-prior";
const nightly = (desiredState: Role = "secondary", mode = "on") =>
  policy({ desiredState, mode, managedResources: named("CronJob nightly") });
const remembered = (suspend: boolean | null) => ({ annotations: { [PRIOR]: JSON.stringify({ policy: "shop/site", suspend }) } });
const ended = (type: string) => ({ ...job("nightly-0", "nightly"), status: { conditions: [{ type, status: "True" as const }] } });
const podOf = (name: string, phase?: "Succeeded") =>
  pod(`${name}-x`, { labels: {}, ownerReferences: [{ apiVersion: "batch/v1", kind: "Job", name, uid: name }] }, phase);

describe("a CronJob on the way to secondary", () => {
  test("is suspended with its runs, and only its own", () => {
    const site = new FakeSite().put("CronJob", cronJob("nightly")).put("Job", job("nightly-1", "nightly"), job("weekly-1", "weekly"));
    const { steps: all } = plan(site.observe(nightly()));
    expect(all.flatMap((step) => step.writes.map(({ patch }) => patch))).toEqual([
      { metadata: remembered(null), spec: { suspend: true } },
      { metadata: remembered(null), spec: { suspend: true } },
    ]);
  });

  test.each(["Complete", "Failed"])("a run that is %s is skipped", (type) => {
    const site = new FakeSite()
      .put("CronJob", cronJob("nightly", { suspend: true }))
      .put("Job", ended(type))
      .put("Pod", podOf("nightly-0", "Succeeded"));
    expect(plan(site.observe(nightly())).complete).toBe(true);
  });

  test("is awaited until the pods of its runs are gone", () => {
    const site = new FakeSite()
      .put("CronJob", cronJob("nightly", { suspend: true }))
      .put("Job", job("nightly-1", "nightly", { suspend: true }))
      .put("Pod", podOf("nightly-1"), podOf("other-1"));
    const result = plan(site.observe(nightly()));
    expect(result.steps.find(({ name }) => name === "AwaitTermination")?.waits).toEqual([
      {
        kind: "Pod",
        namespace: "shop",
        name: "nightly-1-x",
        node: "n1",
        message: "Pod shop/nightly-1-x belongs to Job nightly-1 and runs on node n1",
      },
    ]);
    site.delete("Pod", "nightly-1-x");
    expect(plan(site.observe(nightly())).complete).toBe(true);
  });

  test("does not count as stopped while its runs cannot be read", () => {
    const site = new FakeSite().put("CronJob", cronJob("nightly", { suspend: true }));
    site.errors.add("Job shop");
    expect(steps(plan(site.observe(nightly())))).toContain("SuspendCronJobs Wait");
  });
});

describe("a CronJob on the way to primary", () => {
  test.each([
    [false, false],
    [null, null],
  ])("is restored: %s", (suspend, patch) => {
    const site = new FakeSite().put("CronJob", cronJob("nightly", { suspend: true }, remembered(suspend)));
    const [write] = plan(site.observe(nightly("primary"))).steps.flatMap((step) => step.writes);
    expect(write?.patch).toEqual({ metadata: { annotations: { [PRIOR]: null } }, spec: { suspend: patch } });
  });

  test("that was suspended before stays suspended", () => {
    const result = plan(new FakeSite().put("CronJob", cronJob("nightly", { suspend: true })).observe(nightly("primary")));
    expect(writeTexts(result)).toEqual([]);
    expect(result.complete).toBe(true);
    expect(result.resources[0]?.state).toBe("Suspended");
  });

  test("resumes its runs after the volumes, in a step of their own", () => {
    const site = new FakeSite()
      .put("CronJob", cronJob("nightly", { suspend: true }, remembered(false)))
      .put("Job", job("nightly-1", "nightly", { suspend: true }, remembered(null)), job("nightly-2", "nightly", { suspend: true }));
    const byStep = plan(site.observe(nightly("primary"))).steps.map(({ name, writes }) => [name, writes.map((write) => write.description)]);
    expect(Object.fromEntries(byStep)).toMatchObject({
      ResumeCronJobs: ["resume CronJob shop/nightly"],
      ResumeJobs: ["resume Job shop/nightly-1"],
    });
  });
});
