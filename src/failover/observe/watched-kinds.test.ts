import { expect, test } from "vitest";
import { affects, watchedKindsOf } from "./watched-kinds.ts";
import type { Managed } from "../policy/managed.ts";

const managed = (kind: Managed["kind"], namespace: string, name: string): Managed => ({ kind, namespace, name, field: "" });
const plain = (resources: Managed[]) =>
  Object.fromEntries(
    [...watchedKindsOf(resources)].map(([kind, byNamespace]) => [
      kind,
      Object.fromEntries([...byNamespace].map(([at, names]) => [at, [...names]])),
    ]),
  );

test("a workload is observed with its pods and autoscalers, a volume with its pods and attachments", () => {
  expect(
    plain([managed("Deployment", "shop", "web"), managed("Deployment", "shop", "api"), managed("VolumeReplication", "data", "db")]),
  ).toEqual({
    Deployment: { shop: ["web", "api"] },
    Pod: { shop: [], data: [] },
    HorizontalPodAutoscaler: { shop: [] },
    ScaledObject: { shop: [] },
    VolumeReplication: { data: ["db"] },
    PersistentVolumeClaim: { data: [] },
    VolumeAttachment: { "": [] },
    VolumeReplicationClass: { "": [] },
    CSIDriver: { "": [] },
  });
});

test("Flux objects and VirtualServices are observed alone", () => {
  expect(plain([managed("HelmRelease", "a", "x"), managed("Kustomization", "b", "y"), managed("VirtualService", "c", "z")])).toEqual({
    HelmRelease: { a: ["x"] },
    Kustomization: { b: ["y"] },
    VirtualService: { c: ["z"] },
  });
});

test("a change affects policies that name the object, or observe its kind in the namespace", () => {
  const watched = watchedKindsOf([managed("CronJob", "shop", "report")]);
  expect(affects(watched, "CronJob", "shop", "report")).toBe(true);
  expect(affects(watched, "CronJob", "shop", "other")).toBe(false);
  expect(affects(watched, "Job", "shop", "any")).toBe(true);
  expect(affects(watched, "Job", "elsewhere", "any")).toBe(false);
  expect(affects(watched, "Deployment", "shop", "report")).toBe(false);
});

test("a group is observed with all VolumeReplications of its namespace, also if one of them is named", () => {
  for (const kinds of [
    ["VolumeReplication", "VolumeGroupReplication"],
    ["VolumeGroupReplication", "VolumeReplication"],
  ] as const) {
    expect(plain(kinds.map((kind) => managed(kind, "shop", "db")))).toMatchObject({
      VolumeGroupReplication: { shop: ["db"] },
      VolumeReplication: { shop: [] },
      PersistentVolumeClaim: { shop: [] },
    });
  }
});

test("an Application is observed with its ApplicationSets", () => {
  expect(plain([managed("Application", "argocd", "shop")])).toEqual({ Application: { argocd: ["shop"] }, ApplicationSet: { argocd: [] } });
});
