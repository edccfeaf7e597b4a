import { expect, test } from "vitest";
import type { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import { plan } from "../plan.ts";
import { FakeSite } from "../testing/fake-site.ts";
import { deployment, named, policy } from "../testing/fixtures.ts";

type Spec = FailoverPolicy["spec"];
const peer = { kubeconfigSecret: { name: "other", key: "kubeconfig" } };
const fence = (...cidrs: string[]): Partial<Spec> => ({ peer, fence: { networkFenceClassName: "rbd", cidrs } });

test.each<[Partial<Spec>, string, string]>([
  [{ maxCopyAge: "soon" }, "spec.maxCopyAge", 'maxCopyAge is "soon"; use a duration such as 90s, 15m or 1h30m'],
  [{ maxCopyAge: "-15m" }, "spec.maxCopyAge", 'maxCopyAge is "-15m"; it cannot be negative'],
  [{ maxCopyAge: "0s" }, "spec.maxCopyAge", 'maxCopyAge is "0s"; set a duration above 0, or remove it'],
  [{ availableWithin: "-1s" }, "spec.availableWithin", 'availableWithin is "-1s"; it cannot be negative'],
  [{ settleTime: "10" }, "spec.settleTime", 'settleTime is "10"; use a duration such as 90s, 15m or 1h30m'],
  [{ wave: -1 }, "spec.wave", "wave is -1; set an integer of 0 or more"],
  [fence("10.0.0.5/24"), "spec.fence.cidrs[0]", "host bits are set; the network is 10.0.0.0/24"],
  [fence("10.0.0.0/24", "node1"), "spec.fence.cidrs[1]", "node1"],
  [
    fence("10.0.0.0/24", "10.0.0.7/32"),
    "spec.fence.cidrs[1]",
    "10.0.0.7/32 overlaps 10.0.0.0/24 in spec.fence.cidrs[0]; remove one of them",
  ],
  [fence("0.0.0.0/0"), "spec.fence.cidrs[0]", "0.0.0.0/0 includes every address, also this site's; list the other site's nodes"],
  [fence(), "spec.fence.cidrs", "cidrs is empty; list the other site's nodes"],
  [
    { fence: { networkFenceClassName: "rbd", cidrs: ["10.0.0.0/24"] } },
    "spec.fence",
    "fence requires spec.peer; set spec.peer, or remove fence",
  ],
])("%j is Invalid with its field, and nothing is written", (spec, field, message) => {
  const wanted = policy({ ...spec, managedResources: named("Deployment web") });
  const result = plan(new FakeSite().put("Deployment", deployment("web", { replicas: 2 })).observe(wanted));
  expect(result.rejections).toEqual([
    expect.objectContaining({
      kind: "FailoverPolicy",
      reason: "Invalid",
      field,
      message: expect.stringContaining(message),
      class: "Permanent",
    }),
  ]);
  expect(result.steps.flatMap(({ writes }) => writes)).toEqual([]);
  expect(result.requeueAfterMs).toBeUndefined();
});

test("valid times, waves and fences are accepted", () => {
  const spec = { ...fence("10.0.0.0/24", "fd00::/64"), maxCopyAge: "1h30m", availableWithin: "0s", settleTime: "30s", wave: 0 };
  const wanted = policy({ ...spec, managedResources: named("Deployment web") });
  expect(plan(new FakeSite().put("Deployment", deployment("web")).observe(wanted)).rejections).toEqual([]);
});
