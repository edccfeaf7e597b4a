import { describe, expect, test } from "vitest";
import { isExempt, ownersOf, titleOf } from "./owners.ts";
import { deployment, named, policy } from "../testing/fixtures.ts";
import { managedBy } from "./managed.ts";

const managed = managedBy(policy({ managedResources: named("Application shop") })).managed;
const titles = (metadata: object, resources = managed) =>
  ownersOf("Deployment", deployment("web", {}, metadata), resources).map((owner) => `${titleOf(owner)} by ${owner.mark}`);

describe("the owner of an object", () => {
  test.each([
    [
      "a Kustomization",
      { labels: { "kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system" } },
      ["Kustomization flux-system/apps by label kustomize.toolkit.fluxcd.io/name"],
    ],
    [
      "a HelmRelease, which also leaves Helm's own annotations",
      {
        labels: { "helm.toolkit.fluxcd.io/name": "web", "helm.toolkit.fluxcd.io/namespace": "shop" },
        annotations: { "meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "shop" },
      },
      ["HelmRelease shop/web by label helm.toolkit.fluxcd.io/name"],
    ],
    [
      "Helm, run by a person",
      { annotations: { "meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "shop" } },
      ["Helm release shop/web by annotation meta.helm.sh/release-name"],
    ],
    [
      "an Application in Argo CD's own namespace",
      { annotations: { "argocd.argoproj.io/tracking-id": "store:apps/Deployment:shop/web" } },
      ["Application store by annotation argocd.argoproj.io/tracking-id"],
    ],
    [
      "an Application in any namespace",
      { annotations: { "argocd.argoproj.io/tracking-id": "team_store:apps/Deployment:shop/web" } },
      ["Application team/store by annotation argocd.argoproj.io/tracking-id"],
    ],
    [
      "an Application that tracks by label, if the policy names it",
      { labels: { "app.kubernetes.io/instance": "shop" } },
      ["Application shop by label app.kubernetes.io/instance"],
    ],
  ])("is %s", (_title, metadata, owners) => {
    expect(titles(metadata)).toEqual(owners);
  });

  test.each([
    ["a label that most charts set", { labels: { "app.kubernetes.io/instance": "web" } }],
    [
      "a tracking id that was copied from another object",
      { annotations: { "argocd.argoproj.io/tracking-id": "store:apps/Deployment:shop/api" } },
    ],
    ["a tracking id of another kind", { annotations: { "argocd.argoproj.io/tracking-id": "store:apps/StatefulSet:shop/web" } }],
    ["half of Flux's labels", { labels: { "kustomize.toolkit.fluxcd.io/name": "apps" } }],
  ])("is not derived from %s", (_title, metadata) => {
    expect(titles(metadata)).toEqual([]);
  });
});

test.each([
  [{ annotations: { "kustomize.toolkit.fluxcd.io/reconcile": "disabled" } }, true],
  [{ labels: { "kustomize.toolkit.fluxcd.io/reconcile": "Disabled" } }, true],
  [{ annotations: { "kustomize.toolkit.fluxcd.io/ssa": "IfNotPresent" } }, true],
  [{ annotations: { "kustomize.toolkit.fluxcd.io/ssa": "Ignore" } }, true],
  [{ annotations: { "kustomize.toolkit.fluxcd.io/ssa": "Merge" } }, false],
  [{ annotations: { "kustomize.toolkit.fluxcd.io/reconcile": "enabled" } }, false],
])("%j exempts an object from its Kustomization: %s", (metadata, exempt) => {
  expect(isExempt(deployment("web", {}, metadata))).toBe(exempt);
});
