import { describe, expect, test } from "vitest";
import type { FailoverPolicy, Role } from "../../api/failover/failover-policy.ts";
import { plan } from "../plan.ts";
import { inFlux, writeTexts } from "../testing/harness.ts";
import { FakeSite } from "../testing/fake-site.ts";
import { deployment, named, policy } from "../testing/fixtures.ts";
import { asSwitched, differsFromSwitch, revertOf, switchedBy } from "./switch-record.ts";

const AT = new Date("2026-11-16T11:00:00Z");
const wrote = (manager: string, time: string, field = "f:desiredState") => ({ manager, time, fieldsV1: { "f:spec": { [field]: {} } } });

/** Asked for by a person, and by what the spec says now. */
function switched(person: Role | undefined, spec: Role, managedFields: unknown[], ownerIsChanged = false): FailoverPolicy {
  const annotations = person === undefined ? {} : switchedBy(person, AT, ownerIsChanged);
  return policy(
    { desiredState: spec, managedResources: named("Deployment web") },
    { annotations, managedFields, ...inFlux("kustomize", "apps") },
  );
}

describe("a role that is applied from Git", () => {
  test.each(["kustomize-controller", "helm-controller", "helm", "argocd-controller", "argocd-application-controller"])(
    "by %s after a manual switch is a revert, and the manual role counts",
    (manager) => {
      const reverted = switched("secondary", "primary", [
        wrote("plumbline", "2026-11-16T11:00:00Z", "f:mode"),
        wrote(manager, "2026-11-16T11:05:00Z"),
      ]);
      expect(revertOf(reverted)).toEqual({ to: "secondary", at: AT.toISOString(), manager });
      expect(asSwitched(reverted).spec.desiredState).toBe("secondary");
    },
  );

  test.each<[string, FailoverPolicy]>([
    ["there was no manual switch", switched(undefined, "primary", [wrote("kustomize-controller", "2026-11-16T11:05:00Z")])],
    [
      "the manual switch was confirmed for Git",
      switched("secondary", "primary", [wrote("kustomize-controller", "2026-11-16T11:05:00Z")], true),
    ],
    ["it is the same role", switched("primary", "primary", [wrote("kustomize-controller", "2026-11-16T11:05:00Z")])],
    ["another user changed it", switched("secondary", "primary", [wrote("kubectl-edit", "2026-11-16T11:05:00Z")])],
    [
      "another user changed it last",
      switched("secondary", "primary", [
        wrote("kustomize-controller", "2026-11-16T10:00:00Z"),
        wrote("kubectl-edit", "2026-11-16T11:05:00Z"),
      ]),
    ],
  ])("counts if %s", (_title, wanted) => {
    expect(revertOf(wanted)).toBeUndefined();
    expect(asSwitched(wanted)).toBe(wanted);
  });

  test.each<[string, Role, { startTime: string; completionTime?: string }, boolean]>([
    ["another role was completed since, as after kubectl edit", "secondary", { startTime: "2026-11-16T11:02:00Z" }, false],
    ["the other role was completed before the switch", "secondary", { startTime: "2026-11-16T10:00:00Z" }, true],
    [
      "the site became secondary since, and is secondary",
      "primary",
      { startTime: "2026-11-16T11:02:00Z", completionTime: "2026-11-16T11:03:00Z" },
      false,
    ],
    ["the site was outranked since, and becomes secondary", "primary", { startTime: "2026-11-16T11:02:00Z" }, true],
  ])("when %s", (_title, person, times, isRevert) => {
    const other: Role = person === "primary" ? "secondary" : "primary";
    const applied = switched(person, other, [wrote("kustomize-controller", "2026-11-16T11:05:00Z")]);
    applied.status = { transition: { to: other, mode: "safe", generation: 1, steps: [], ...times } };
    expect(revertOf(applied) !== undefined).toBe(isRevert);
  });

  test("is undecided without managedFields, which caches drop", () => {
    const cached = switched("secondary", "primary", []);
    expect(revertOf(cached)).toBeUndefined();
    expect(differsFromSwitch(cached)).toBe(true);
  });

  test("is an Error that names the owner, how to keep the role and how to confirm the other; the switch goes on", () => {
    const reverted = switched("secondary", "primary", [wrote("kustomize-controller", "2026-11-16T11:05:00Z")]);
    const site = new FakeSite().put("Deployment", deployment("web", { replicas: 2 }));
    const revert = revertOf(reverted);
    const planned = plan(site.observe(asSwitched(reverted), revert && { revert }));
    expect(planned.to).toBe("secondary");
    expect(writeTexts(planned)).toEqual(["scale Deployment shop/web from 2 to 0"]);
    expect(planned.failures).toEqual([
      {
        kind: "FailoverPolicy",
        namespace: "shop",
        name: "site",
        reason: "RevertedByOwner",
        field: "spec.desiredState",
        message:
          "kustomize-controller (Kustomization shop/apps) set it to primary after a person switched this site to secondary at 2026-11-16T11:00:00.000Z. " +
          "The site stays secondary: set desiredState secondary in Git. " +
          "If primary is right, confirm it: plumbline failover switch site -n shop --to primary --owner-is-changed",
        class: "Permanent",
      },
    ]);

    site.put("Deployment", deployment("web", { replicas: 0 }));
    const rested = plan(site.observe(asSwitched(reverted), revert && { revert }));
    expect(rested.complete).toBe(true);
    expect(rested.failures).toHaveLength(1);
  });

  test.each(["", "{", "null", '{"to":"both"}'])("an annotation %j is ignored", (text) => {
    const broken = switched("secondary", "primary", [wrote("kustomize-controller", "2026-11-16T11:05:00Z")]);
    broken.metadata.annotations = { "plumbline.dev/failover-switched": text };
    expect(revertOf(broken)).toBeUndefined();
  });
});
