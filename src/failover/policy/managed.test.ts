import { describe, expect, test } from "vitest";
import { managedBy, modeOf } from "./managed.ts";
import { named, policy } from "../testing/fixtures.ts";

const problems = (spec: object) => managedBy(policy(spec)).problems.map(({ field, message }) => `${field}: ${message}`);
const something = named("Deployment web");

describe("the resources of a policy", () => {
  test("the old lists are merged in after the one list, each resource once, with its namespace or the policy's", () => {
    const { managed, problems: none } = managedBy(
      policy({
        managedResources: [
          { kind: "Deployment", name: "web" },
          { kind: "CronJob", name: "nightly", namespace: "jobs" },
          { kind: "Deployment", name: "web", namespace: "shop" },
        ],
        deployments: [{ name: "web" }, { name: "api", namespace: "backend" }],
        volumeReplications: [{ name: "data" }],
        virtualServices: [{ name: "web" }],
        statefulSets: [{ name: "db" }],
        cronJobs: [{ name: "weekly" }],
        helmReleases: [{ name: "web" }],
        kustomizations: [{ name: "apps" }],
      }),
    );
    expect(none).toEqual([]);
    expect(managed.map(({ kind, namespace, name, field }) => `${kind} ${namespace}/${name} ${field}`)).toEqual([
      "Deployment shop/web spec.managedResources[0]",
      "CronJob jobs/nightly spec.managedResources[1]",
      "VolumeReplication shop/data spec.volumeReplications[0]",
      "VirtualService shop/web spec.virtualServices[0]",
      "Deployment backend/api spec.deployments[1]",
      "StatefulSet shop/db spec.statefulSets[0]",
      "CronJob shop/weekly spec.cronJobs[0]",
      "HelmRelease shop/web spec.helmReleases[0]",
      "Kustomization shop/apps spec.kustomizations[0]",
    ]);
  });

  test.each([
    [undefined, "safe"],
    ["on", "safe"],
    ["On", "safe"],
    ["SAFE", "safe"],
    ["off", "unsafe"],
    ["OFF", "unsafe"],
    ["Unsafe", "unsafe"],
    ["fast", undefined],
    ["toString", undefined],
  ])("mode %s is %s", (mode, is) => {
    expect(modeOf(mode === undefined ? {} : { mode })).toBe(is);
  });

  test.each([
    [{ managedResources: something, desiredState: "standby" }, 'spec.desiredState: desiredState is "standby"; set primary or secondary'],
    [{ managedResources: something, mode: "fast" }, 'spec.mode: mode is "fast"; set on, safe, off or unsafe'],
    [{}, "spec.managedResources: no resource to switch; name at least one"],
    [{ managedResources: [{ kind: "Deployment", name: "" }] }, "spec.managedResources[0].name: name is missing"],
    [
      { managedResources: named("Ingress web") },
      'spec.managedResources[0].kind: kind "Ingress" cannot be switched; one of VolumeReplication, Deployment, StatefulSet, CronJob, VirtualService, HelmRelease, Kustomization, Application, VolumeGroupReplication can',
    ],
  ])("%j is reported with the field to change", (spec, problem) => {
    expect(problems(spec)).toEqual([problem]);
  });

  test("all problems are reported at once", () => {
    expect(problems({ desiredState: "x", mode: "y", managedResources: named("Ingress web") })).toHaveLength(3);
  });
});
