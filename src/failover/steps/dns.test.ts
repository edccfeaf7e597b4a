import { expect, test } from "vitest";
import type { Role } from "../../api/failover/failover-policy.ts";
import { plan } from "../plan.ts";
import { FakeSite } from "../testing/fake-site.ts";
import { named, policy } from "../testing/fixtures.ts";

const KEY = "external-dns.alpha.kubernetes.io/controller";
const web = (desiredState: Role) => policy({ desiredState, managedResources: named("VirtualService web") });
const site = (annotations?: Record<string, string>) =>
  new FakeSite().put("VirtualService", { metadata: { name: "web", namespace: "shop", ...(annotations && { annotations }) } });
const patches = (at: FakeSite, to: Role, rest = {}) =>
  plan(at.observe(web(to), rest)).steps.flatMap((step) => step.writes.map(({ patch }) => patch));

test.each([
  ["secondary", undefined, "ignore"],
  ["secondary", "dns-controller", "ignore"],
  ["secondary", "ignore", undefined],
  ["primary", undefined, "dns-controller"],
  ["primary", "ignore", "dns-controller"],
  ["primary", "somebody", "dns-controller"],
  ["primary", "dns-controller", undefined],
] as const)("as %s, annotation value %s becomes %s, and other annotations stay", (to, value, patch) => {
  const at = site({ team: "shop", ...(value && { [KEY]: value }) });
  expect(patches(at, to)).toEqual(patch === undefined ? [] : [{ metadata: { annotations: { [KEY]: patch } } }]);
});

test("the name of the annotation is configurable", () => {
  expect(patches(site(), "secondary", { dnsAnnotation: "external-dns.kubernetes.io/controller" })).toEqual([
    { metadata: { annotations: { "external-dns.kubernetes.io/controller": "ignore" } } },
  ]);
});

test("drift on a primary at rest is reverted", () => {
  const times = { startTime: "2026-11-16T11:00:00Z", completionTime: "2026-11-16T11:00:00Z" };
  const status = { transition: { to: "primary" as const, mode: "safe" as const, generation: 1, ...times, steps: [] } };
  const { steps } = plan(site({ [KEY]: "ignore" }).observe({ ...web("primary"), status }));
  expect(steps.filter(({ state }) => state === "Act").map(({ name }) => name)).toEqual(["UpdateDNS"]);
});
