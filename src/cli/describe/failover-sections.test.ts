import { expect, test } from "vitest";
import { NOW, policy, waiting } from "../testing/failover-fixtures.ts";
import { plain } from "../print/color.ts";
import { failoverSections } from "./failover-sections.ts";

const sections = (...of: Parameters<typeof policy>) => failoverSections(policy(...of), { paint: plain, now: NOW });
const squeezed = (lines: readonly string[] | undefined) => lines?.map((line) => line.replaceAll(/(?<=\S) {3,}/g, " | "));

test("a policy during a switch is described with its steps, resources and history", () => {
  const [state, steps, resources, history] = sections({}, waiting) ?? [];
  expect(state).toEqual([
    "State:",
    "  Desired:    secondary",
    "  Current:    mixed",
    "  Mode:       safe",
    "  Now:        Waiting for Pod shop/db-0",
    "  Workloads:  1/2 scaled down, 1/1 suspended, 1/1 Flux resources suspended",
  ]);
  expect(steps?.[0]).toBe("Steps to secondary: begun 2026-11-16T11:59:20Z (40s ago), still running");
  expect(steps).toHaveLength(7);
  expect(squeezed(resources)).toEqual([
    "Resources:",
    "  KIND | NAMESPACE | NAME | STATE | SINCE | COPIED | MESSAGE",
    "  VolumeReplication | shop | data | Primary | 66m | 70s ago | VolumeReplication data not in desired state",
    "  Deployment | shop | web | Scaled Down | 35s",
    "  StatefulSet | shop | db | Scaling Down | 40s | StatefulSet is scaling down: 1/0/0/1 replicas (total/available/ready/updated); Pod db-0 is terminating",
  ]);
  expect(history).toHaveLength(5);
});

test("the other site is described with its token, or with the reason why it cannot be read", () => {
  const peer = { kubeconfigSecret: { name: "site-b", key: "kubeconfig" } };
  const force = { reason: "Site B burns", epoch: 3 };
  const lost = { reachable: false, message: "connect ETIMEDOUT 192.0.2.1:6443" };
  const [state, other] = sections({ peer, force }, { token: { epoch: 3, state: "Held" }, peer: lost, observedGeneration: 1 }) ?? [];
  expect(state?.slice(-2)).toEqual([
    "  Force:    Site B burns (for epoch 3)",
    "  Behind:   from generation 1; generation 2 is not observed yet",
  ]);
  expect(other).toEqual([
    "Other site:",
    "  Read with:   Secret site-b, key kubeconfig",
    "  Token here:  Held, epoch 3",
    "  Reachable:   no",
    "  Message:     connect ETIMEDOUT 192.0.2.1:6443",
  ]);
  const heard = { reachable: true, desiredState: "secondary", token: { epoch: 4, state: "Released" as const } };
  expect((sections({ peer }, { peer: heard }) ?? [])[1]?.slice(2)).toEqual([
    "  Token here:     none yet",
    "  Token there:    Released, epoch 4",
    "  Desired there:  secondary",
    "  Reachable:      yes",
  ]);
});

test("an unprocessed policy says so, and other kinds have no sections", () => {
  expect(sections({})).toEqual([["State:", "  Desired:  secondary", "  Current:  not observed yet"]]);
  expect(
    failoverSections({ apiVersion: "v1", kind: "FailoverPolicy", metadata: { name: "x" } }, { paint: plain, now: NOW }),
  ).toBeUndefined();
});
