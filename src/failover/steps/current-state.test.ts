import { expect, test } from "vitest";
import { plan } from "../plan.ts";
import { FakeSite } from "../testing/fake-site.ts";
import { cronJob, deployment, flux, named, pod, policy, volume } from "../testing/fixtures.ts";

const memory = { annotations: { "plumbline.dev/failover-prior": "{}" } };
const everything = policy({ managedResources: named("VolumeReplication data", "Deployment web", "CronJob nightly", "Kustomization apps") });
const stateOf = (site: FakeSite) => plan(site.observe(everything)).currentState;
const down = (metadata = {}) => deployment("web", { replicas: 0 }, metadata);

test.each([
  ["running on primary volumes", "primary", [volume("data", "primary")], [deployment("web", { replicas: 2 })]],
  ["stopped by a policy on secondary volumes", "secondary", [volume("data", "secondary")], [down(memory)]],
  ["running on secondary volumes", "mixed", [volume("data", "secondary")], [deployment("web", { replicas: 2 })]],
  ["stopped by a policy on primary volumes", "mixed", [volume("data", "primary")], [down(memory)]],
  ["at 0 by its owner on primary volumes", "primary", [volume("data", "primary")], [down()]],
  ["at 0 by its owner on secondary volumes", "secondary", [volume("data", "secondary")], [down()]],
  ["of an unknown volume", "unknown", [volume("data", "primary", { status: { state: "Unknown" } })], [deployment("web")]],
  ["without anything", "unknown", [], []],
  ["only ever at 0", "secondary", [], [down()]],
] as const)("a site %s is %s", (_, state, volumes, deployments) => {
  expect(stateOf(new FakeSite().put("VolumeReplication", ...volumes).put("Deployment", ...deployments))).toBe(state);
});

test("the observed state counts, not the spec: remaining pods, a volume that has not changed yet", () => {
  expect(stateOf(new FakeSite().put("Deployment", down(memory)).put("Pod", pod("web-1")))).toBe("primary");
  const demoting = volume("data", "secondary", { status: { state: "Primary" } });
  expect(stateOf(new FakeSite().put("VolumeReplication", demoting))).toBe("primary");
});

test("a CronJob counts as a workload", () => {
  expect(stateOf(new FakeSite().put("CronJob", cronJob("nightly")))).toBe("primary");
  expect(stateOf(new FakeSite().put("CronJob", cronJob("nightly", { suspend: true }, memory)))).toBe("secondary");
});

test("Flux objects count if there are no volumes and workloads", () => {
  expect(stateOf(new FakeSite().put("Kustomization", flux("apps")))).toBe("primary");
  expect(stateOf(new FakeSite().put("Kustomization", flux("apps", { suspend: true }, memory)))).toBe("secondary");
  expect(stateOf(new FakeSite().put("VolumeReplication", volume("data", "secondary")).put("Kustomization", flux("apps")))).toBe(
    "secondary",
  );
});

test("an unreadable resource makes the state unknown", () => {
  const site = new FakeSite().put("VolumeReplication", volume("data", "secondary"));
  site.errors.add("Deployment shop/web");
  expect(stateOf(site)).toBe("unknown");
});
