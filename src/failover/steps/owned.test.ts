import { describe, expect, test } from "vitest";
import type { FailoverPolicy, FailoverStatus, Role } from "../../api/failover/failover-policy.ts";
import { plan } from "../plan.ts";
import { inFlux, writeTexts } from "../testing/harness.ts";
import { FakeSite } from "../testing/fake-site.ts";
import { application, deployment, flux, named, policy, volume } from "../testing/fixtures.ts";

const RECONCILE = "kustomize.toolkit.fluxcd.io/reconcile";
const TRACKED = { annotations: { "argocd.argoproj.io/tracking-id": "shop:replication.storage.openshift.io/VolumeReplication:shop/data" } };

function wanting(to: Role, ...resources: string[]): FailoverPolicy {
  return policy({ desiredState: to, managedResources: named("VolumeReplication data", ...resources) });
}

const own = (wanted: FailoverPolicy) => ({ ...wanted, metadata: { ...wanted.metadata, ...inFlux("kustomize", "apps") } });

const rejectionsOf = (site: FakeSite, wanted: FailoverPolicy) => {
  const { rejections, steps } = plan(site.observe(wanted));
  if (rejections.length > 0) expect(steps.every(({ state }) => state !== "Act")).toBe(true);
  return rejections.map(({ reason, field, message }) => `${reason} ${field}: ${message}`);
};

describe("a volume that GitOps applies", () => {
  test("is rejected if its Kustomization is not named, with a fix", () => {
    const site = new FakeSite().put("VolumeReplication", volume("data", "primary", { metadata: inFlux("kustomize", "apps") }));
    expect(rejectionsOf(site, wanting("secondary"))).toEqual([
      "OwnedByGitOps spec.managedResources[0]: VolumeReplication data is applied by Kustomization shop/apps, which writes spec.replicationState back; " +
        `set annotation ${RECONCILE}: disabled on it, or take it out of Git`,
    ]);
  });

  test.each(["reconcile: disabled", "ssa: IfNotPresent"])("is switched if it has %s", (exemption) => {
    const [key, value = ""] = exemption.split(": ");
    const metadata = { ...inFlux("kustomize", "apps"), annotations: { [`kustomize.toolkit.fluxcd.io/${key}`]: value } };
    const site = new FakeSite().put("VolumeReplication", volume("data", "secondary", { metadata }));
    const planned = plan(site.observe(wanting("primary")));
    expect(planned.rejections).toEqual([]);
    expect(planned.notes).toEqual([]);
    expect(writeTexts(planned)).toEqual(["promote VolumeReplication shop/data"]);
  });

  test("is exempted with its first write if the policy names its Kustomization, and the policy is recorded", () => {
    const site = new FakeSite()
      .put("VolumeReplication", volume("data", "secondary", { metadata: inFlux("kustomize", "apps") }))
      .put("Kustomization", flux("apps", { suspend: true }));
    const { steps, rejections } = plan(site.observe(wanting("primary", "Kustomization apps")));
    expect(rejections).toEqual([]);
    expect(steps[0]?.writes.map(({ patch }) => patch)).toEqual([
      {
        metadata: { annotations: { [RECONCILE]: "disabled", "plumbline.dev/failover-exempted": "shop/site" } },
        spec: { replicationState: "primary" },
      },
    ]);
  });

  test("is not promoted while its Kustomization reconciles, which could revert it", () => {
    const site = new FakeSite()
      .put("VolumeReplication", volume("data", "secondary", { metadata: inFlux("kustomize", "apps") }))
      .put("Kustomization", flux("apps"));
    expect(rejectionsOf(site, wanting("primary", "Kustomization apps"))).toHaveLength(1);
    expect(rejectionsOf(site, wanting("secondary", "Kustomization apps"))).toEqual([]);
  });

  test("is rejected if a HelmRelease applies it, named or not: a forced upgrade writes the whole chart", () => {
    const site = new FakeSite()
      .put("VolumeReplication", volume("data", "primary", { metadata: inFlux("helm", "db") }))
      .put("HelmRelease", flux("db"));
    expect(rejectionsOf(site, wanting("secondary", "HelmRelease db"))).toEqual([
      expect.stringMatching(/^OwnedByGitOps spec.managedResources\[0\]: .* HelmRelease shop\/db, .*take it out of the chart/),
    ]);
  });

  test("is rejected if an Application applies it without ignoring its state", () => {
    const owner = application("shop", undefined);
    const site = new FakeSite().put("VolumeReplication", volume("data", "primary", { metadata: TRACKED })).put("Application", owner);
    expect(rejectionsOf(site, wanting("secondary"))).toEqual([expect.stringContaining("and name it in spec.managedResources")]);
    expect(rejectionsOf(site, wanting("secondary", "Application shop"))).toEqual([
      expect.stringMatching(/spec.ignoreDifferences for \/spec\/replicationState and sync option RespectIgnoreDifferences=true/),
    ]);

    const ignoreDifferences = [
      { group: "replication.storage.openshift.io", kind: "VolumeReplication", jsonPointers: ["/spec/replicationState"] },
    ];
    site.put("Application", { ...owner, spec: { ignoreDifferences } });
    expect(rejectionsOf(site, wanting("secondary", "Application shop"))).toHaveLength(1);
    site.put("Application", { ...owner, spec: { ignoreDifferences, syncPolicy: { syncOptions: ["RespectIgnoreDifferences=true"] } } });
    expect(rejectionsOf(site, wanting("secondary", "Application shop"))).toEqual([]);
  });

  test("is an Error at rest and during a switch, and blocks nothing then", () => {
    const site = new FakeSite()
      .put("VolumeReplication", volume("data", "secondary", { metadata: inFlux("helm", "db") }))
      .put("Deployment", deployment("web", { replicas: 2 }));
    const transition = { to: "secondary", mode: "safe", generation: 1, startTime: "2026-11-16T11:00:00Z", steps: [] } as const;
    const status: FailoverStatus = { transition: { ...transition, steps: [], completionTime: "2026-11-16T11:01:00Z" } };
    const planned = plan(site.observe({ ...wanting("secondary", "Deployment web"), status }));
    expect(planned.rejections).toEqual([]);
    expect(planned.failures.map(({ reason }) => reason)).toEqual(["OwnedByGitOps"]);
    expect(writeTexts(planned)).toEqual(["scale Deployment shop/web from 2 to 0"]);
  });

  test("is only reported if Helm installed it: nothing reverts it automatically", () => {
    const metadata = { annotations: { "meta.helm.sh/release-name": "db", "meta.helm.sh/release-namespace": "shop" } };
    const site = new FakeSite().put("VolumeReplication", volume("data", "primary", { metadata }));
    const { rejections, notes } = plan(site.observe(wanting("secondary")));
    expect(rejections).toEqual([]);
    expect(notes.map(({ message }) => message)).toEqual([
      "Helm release shop/db applies it (annotation meta.helm.sh/release-name) and is not named in the policy: the next helm upgrade may undo a switch",
    ]);
  });
});

describe("other objects that GitOps applies", () => {
  test("are reported while the owner is not named, and nothing is rejected", () => {
    const site = new FakeSite()
      .put("VolumeReplication", volume("data", "primary"))
      .put("Deployment", deployment("web", { replicas: 0 }, inFlux("kustomize", "apps")))
      .put("Kustomization", flux("apps"));
    const { notes, rejections } = plan(site.observe(wanting("primary", "Deployment web")));
    expect(rejections).toEqual([]);
    expect(notes).toEqual([
      {
        kind: "Deployment",
        namespace: "shop",
        name: "web",
        message:
          "Kustomization shop/apps applies it (label kustomize.toolkit.fluxcd.io/name) and is not named in the policy: it may undo a switch. " +
          `Name it in spec.managedResources, or set annotation ${RECONCILE}: disabled on the object`,
      },
    ]);
    expect(plan(site.observe(wanting("primary", "Deployment web", "Kustomization apps"))).notes).toEqual([]);
  });

  test("include the policy, with another message if it names its own owner", () => {
    const site = new FakeSite().put("VolumeReplication", volume("data", "primary")).put("Kustomization", flux("apps"));
    expect(plan(site.observe(own(wanting("primary")))).notes.map(({ message }) => message)).toEqual([
      expect.stringContaining("it writes spec.desiredState back after a switch"),
    ]);
    expect(plan(site.observe(own(wanting("primary", "Kustomization apps")))).notes.map(({ message }) => message)).toEqual([
      expect.stringContaining("remove it from spec.managedResources"),
    ]);
  });
});

const readyWith = (metadata: object, ...resources: string[]) => {
  const site = new FakeSite()
    .put("VolumeReplication", volume("data", "secondary", { metadata: { labels: {} } }))
    .put("Deployment", deployment("web", { replicas: 0 }, metadata))
    .put("Kustomization", { ...flux("apps", { suspend: true }), metadata: { ...flux("apps").metadata, ...inFlux("kustomize", "root") } });
  const { ready, rejections } = plan(site.observe(wanting("secondary", "Deployment web", ...resources)));
  expect(rejections).toEqual([]);
  return ready.findings
    .filter(({ reason }) => reason === "OwnerNotNamed")
    .map(({ status, name, message }) => `${status} ${name}: ${message}`);
};

describe("a workload whose owner the policy does not name", () => {
  const chart = { annotations: { "meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "shop" } };
  test("makes the site not Ready, with the owner to name", () => {
    expect(readyWith(inFlux("kustomize", "apps"))).toEqual([
      "False web: Kustomization shop/apps applies it (label kustomize.toolkit.fluxcd.io/name) and is not named in the policy: it may undo a switch. " +
        `Name it in spec.managedResources, or set annotation ${RECONCILE}: disabled on the object`,
    ]);
    expect(readyWith(inFlux("helm", "web"))).toHaveLength(1);
  });

  test("does not if it is named or exempt, or installed by helm; the owner of a named Kustomization does not count", () => {
    expect(readyWith(inFlux("kustomize", "apps"), "Kustomization apps")).toEqual([]);
    expect(readyWith({ ...inFlux("kustomize", "apps"), annotations: { [RECONCILE]: "disabled" } })).toEqual([]);
    expect(readyWith(chart)).toEqual([]);
    // The Kustomization that is named has an owner of its own.
    expect(readyWith({}, "Kustomization apps")).toEqual([]);
  });
});
