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

test("a workload is looked at with the pods and autoscalers around it, a volume with who mounts and who attaches it", () => {
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

test("Flux objects and names in DNS are looked at alone", () => {
  expect(plain([managed("HelmRelease", "a", "x"), managed("Kustomization", "b", "y"), managed("VirtualService", "c", "z")])).toEqual({
    HelmRelease: { a: ["x"] },
    Kustomization: { b: ["y"] },
    VirtualService: { c: ["z"] },
  });
});

test("a change concerns whoever names the object, or looks at all of its kind there", () => {
  const watched = watchedKindsOf([managed("CronJob", "shop", "report")]);
  expect(affects(watched, "CronJob", "shop", "report")).toBe(true);
  expect(affects(watched, "CronJob", "shop", "other")).toBe(false);
  expect(affects(watched, "Job", "shop", "any")).toBe(true);
  expect(affects(watched, "Job", "elsewhere", "any")).toBe(false);
  expect(affects(watched, "Deployment", "shop", "report")).toBe(false);
});

test("a group is looked at with all VolumeReplications of its namespace, also where one of them is named", () => {
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

test("an Application is looked at with what could put it back to a template", () => {
  expect(plain([managed("Application", "argocd", "shop")])).toEqual({ Application: { argocd: ["shop"] }, ApplicationSet: { argocd: [] } });
});
