import { consentAnnotation } from "../api/annotations.ts";
import { expect, test } from "vitest";
import type { FailoverPolicy } from "../api/failover/failover-policy.ts";
import { actsEverywhere, foreignNamespaces } from "./consent.ts";
import { plan } from "./plan.ts";
import { report } from "./report.ts";
import { deployment, named, NOW, policy } from "./testing/fixtures.ts";
import { FakeSite } from "./testing/fake-site.ts";
import type { SwitchPlan } from "./steps/step.ts";

const own = { kind: "Deployment", name: "web" } as const;
const foreign = { kind: "Deployment", name: "coredns", namespace: "kube-system" } as const;
const both: Partial<FailoverPolicy["spec"]> = { managedResources: [own, foreign] };

/** A site with a Deployment in each of two namespaces, where kube-system says this of other namespaces' policies. */
function site(consent?: string): FakeSite {
  const annotations = consent === undefined ? {} : { annotations: { [consentAnnotation]: consent } };
  return new FakeSite()
    .put("Namespace", { metadata: { name: "shop" } }, { metadata: { name: "kube-system", ...annotations } })
    .put("Deployment", deployment("web"), deployment("coredns", {}, { namespace: "kube-system" }));
}

const writes = ({ steps }: SwitchPlan) =>
  steps.filter(({ state }) => state === "Act").flatMap((step) => step.writes.map(({ description }) => description));

test("a resource of another namespace is rejected with the annotation to set, and nothing is written", () => {
  const made = plan(site().observe(policy(both)));
  expect(writes(made)).toEqual([]);
  expect(made.rejections).toEqual([
    {
      kind: "Deployment",
      namespace: "kube-system",
      name: "coredns",
      field: "spec.managedResources[1].namespace",
      reason: "NotPermitted",
      message:
        "FailoverPolicy shop/site may not switch resources in namespace kube-system. To allow it: kubectl annotate --overwrite namespace kube-system 'plumbline.dev/failover-policies=shop/site'",
      class: "Permanent",
    },
  ]);
  expect(made.foreignNamespaces).toEqual([{ name: "kube-system", permitted: false }]);
});

test.for([
  ["shop/site", true],
  ["other/x, shop/site", true],
  ["shop/*", true],
  [" shop/site ,", true],
  ["shop/other", false],
  ["shop/sit", false],
  ["shop", false],
  ["*", false],
  ["*/*", false],
  ["other/*", false],
  ["", false],
] as const)("the annotation %j consents: %s", ([consent, permitted]) => {
  const observed = site(consent).observe(policy(both));
  expect(foreignNamespaces(observed)).toEqual([{ name: "kube-system", permitted }]);
  expect(writes(plan(observed))).toHaveLength(permitted ? 2 : 0);
});

test("the fix for an existing annotation extends it", () => {
  const [rejection] = plan(site("a/b, c/*").observe(policy(both))).rejections;
  expect(rejection?.message).toContain("'plumbline.dev/failover-policies=a/b, c/*, shop/site'");
});

test("a resource of the policy's own namespace needs no consent, and its Namespace is not read", () => {
  const observed = new FakeSite().put("Deployment", deployment("web")).observe(policy({ managedResources: [own] }), {
    namespaces: () => ({ error: "you may not", code: "Forbidden" }),
  });
  expect(plan(observed)).toMatchObject({ rejections: [], foreignNamespaces: [] });
});

test.for([
  [{ error: "you may not", code: "Forbidden" }, "Forbidden"],
  [{ error: "it is away", code: "Unreachable" }, "ReadFailed"],
] as const)("nothing is permitted if namespaces cannot be read: %j", ([result, reason]) => {
  const made = plan(site("shop/*").observe(policy(both), { namespaces: () => result }));
  expect(made.rejections).toMatchObject([{ reason, class: "Transient", message: expect.stringContaining(result.error) }]);
  expect(writes(made)).toEqual([]);
});

test.for([
  [[], false],
  [["other"], false],
  [["other", "shop"], true],
  [["*"], true],
] as const)("with --failover-namespaces %j policies of shop act everywhere: %s", ([names, isSo]) => {
  const trusted = actsEverywhere(policy(both), names);
  expect(trusted).toBe(isSo);
  expect(writes(plan(site().observe(policy(both), { actsEverywhere: trusted })))).toHaveLength(isSo ? 2 : 0);
});

const atRest = (to: "primary" | "secondary", completed = true): NonNullable<FailoverPolicy["status"]> => ({
  transition: {
    to,
    mode: "safe",
    generation: 1,
    startTime: "2026-11-16T10:00:00Z",
    ...(completed && { completionTime: "2026-11-16T10:01:00Z" }),
    steps: [],
  },
});

test("a secondary from before the rule stays, is not Ready, and has no Error", () => {
  const down = site();
  down.put("Deployment", deployment("web", { replicas: 0 }), deployment("coredns", { replicas: 0 }, { namespace: "kube-system" }));
  const secondary = policy(both, { status: atRest("secondary") });
  const made = plan(down.observe(secondary));
  expect(made).toMatchObject({ complete: true, rejections: [], failures: [] });
  const status = report(secondary.status, secondary, made, { failures: [] }, NOW);
  expect(status.conditions?.find(({ type }) => type === "Error")).toMatchObject({ status: "False" });
  expect(status.foreignNamespaces).toEqual([{ name: "kube-system", permitted: false }]);
  expect(status.workloadStatuses?.find(({ name }) => name === "coredns")?.message).toMatch(
    /^The next switch will be rejected: FailoverPolicy shop\/site may not/,
  );

  const drifted = site().observe(secondary);
  expect(writes(plan(drifted))).toContain("scale Deployment kube-system/coredns from 1 to 0");
});

test("its next switch is rejected, and so is a policy with new resources", () => {
  const switched = policy({ ...both, desiredState: "primary" }, { generation: 2, status: atRest("secondary") });
  const made = plan(site().observe(switched));
  expect(made.rejections).toMatchObject([{ reason: "NotPermitted" }]);
  expect(writes(made)).toEqual([]);
  expect(report(switched.status, switched, made, { failures: [] }, NOW).transition).toEqual(switched.status?.transition);
});

test("a running switch is completed, also when consent is withdrawn meanwhile", () => {
  const made = plan(site().observe(policy(both, { status: atRest("secondary", false) })));
  expect(made.rejections).toEqual([]);
  expect(writes(made)).toHaveLength(2);
});

test("a switch to the other role at the same generation needs consent again", () => {
  const confirmed = policy({ ...both, desiredState: "secondary" }, { status: atRest("primary") });
  const made = plan(site().observe(confirmed));
  expect(made.rejections).toMatchObject([{ reason: "NotPermitted" }]);
  expect(writes(made)).toEqual([]);
});

test("a policy may fence only if the controller allows its namespace to act everywhere", () => {
  const fencing = policy({
    desiredState: "primary",
    managedResources: named("Deployment web"),
    peer: { kubeconfigSecret: { name: "peer", key: "kubeconfig" } },
    fence: { networkFenceClassName: "rbd", cidrs: ["192.0.2.0/28"] },
  });
  const blockers = (mayFence: boolean | undefined) =>
    plan(new FakeSite().observe(fencing, mayFence === undefined ? {} : { mayFence })).rejections.map(
      ({ reason, field }) => `${reason} ${field}`,
    );
  expect(blockers(false)).toEqual(["NotPermitted spec.fence"]);
  expect([blockers(true), blockers(undefined)]).toEqual([[], []]);
});
