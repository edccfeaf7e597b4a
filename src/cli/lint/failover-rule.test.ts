import { expect, test } from "vitest";
import type { KubeObject } from "../../api/kind.ts";
import { failoverRule } from "./failover-rule.ts";

const policy = (name: string, spec: object, namespace?: string): KubeObject =>
  ({
    apiVersion: "crd.hahomelabs.com/v1alpha1",
    kind: "FailoverPolicy",
    metadata: { name, ...(namespace !== undefined && { namespace }) },
    spec: { desiredState: "primary", ...spec },
  }) as KubeObject;
const web = { kind: "Deployment", name: "web" };
const failures = (...objects: KubeObject[]) =>
  failoverRule(objects).map(({ name, reason, field, message }) => `${name} ${reason} ${field}: ${message}`);

test("valid policies have no failures, also if two namespaces use the same name", () => {
  expect(failures(policy("a", { managedResources: [web] }, "shop"), policy("b", { managedResources: [web] }, "stock"))).toEqual([]);
});

test("a policy without resources, or with a duplicate, fails as in the controller", () => {
  expect(failures(policy("a", {}))).toEqual(["a ValidationFailed spec.managedResources: no resource to switch; name at least one"]);
  expect(failures(policy("a", { managedResources: [web], deployments: [{ name: "web" }] }))).toEqual([]);
});

test("of two policies with the same resource the first by name wins, however they name it", () => {
  const other = policy("a", { deployments: [{ name: "web", namespace: "shop" }] }, "apps");
  expect(failures(policy("b", { managedResources: [{ kind: "CronJob", name: "web" }, web] }, "shop"), other)).toEqual([
    "b ValidationFailed spec.managedResources[1]: Deployment shop/web belongs to FailoverPolicy apps/a; only one policy can switch it",
  ]);
  expect(failures(policy("b", { managedResources: [web] }), policy("a", { managedResources: [web] }, "default"))).toEqual([
    "b ValidationFailed spec.managedResources[0]: Deployment default/web belongs to FailoverPolicy default/a; only one policy can switch it",
  ]);
});

test("a force without a uid is reported: it does not belong into a manifest", () => {
  const force = { reason: "no power", epoch: 0 };
  expect(failures(policy("a", { managedResources: [web], force }))).toEqual([
    "a ValidationFailed spec.force: force without the uid of the policy has no effect, and does not belong into a manifest; remove it, and use plumbline failover switch --force",
  ]);
  expect(failures(policy("a", { managedResources: [web], force: { ...force, uid: "u-1" } }))).toEqual([]);
});
