import { expect, test } from "vitest";
import type { Condition } from "../../api/kind.ts";
import { plain } from "../print/color.ts";
import { drawPolicies, policyState } from "./draw-policies.ts";
import { ago, NOW, policy, waiting } from "../testing/failover-fixtures.ts";

const peer = { kubeconfigSecret: { name: "other", key: "kubeconfig" } };
const condition = (type: string, status: Condition["status"], reason = type, message = ""): Condition => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: ago(0),
});
const complete = [condition("Complete", "True"), condition("InProgress", "False"), condition("Error", "False")];

test("each policy is one line with its problem", () => {
  const resting = policy(
    { desiredState: "secondary", peer, wave: 10 },
    {
      observedGeneration: 2,
      currentState: "secondary",
      conditions: [...complete, condition("Ready", "False", "CopyTooOld", "The copy is 20m old")],
      token: { epoch: 4, state: "Released" },
      peer: { reachable: true, lastSyncTime: ago(1200) },
    },
  );
  const unseen = policy({ desiredState: "primary" }, { observedGeneration: 1, currentState: "primary", conditions: complete });
  const states = [policy({}, waiting), resting, unseen].map((one) => policyState(one, NOW));
  expect(drawPolicies(states, NOW, plain)).toEqual([
    "NAME       WAVE   DESIRED     CURRENT     COMPLETE   READY     TOKEN        PEER        COPY   PROBLEM",
    "shop/web   0      secondary   mixed       Unknown    Unknown                                   AwaitTermination: Pod shop/db-0 belongs to StatefulSet db and is terminating (and 2 more), for 38s",
    "shop/web   10     secondary   secondary   True       False     Released 4   Reachable   20m    CopyTooOld: The copy is 20m old",
    "shop/web   0      primary     primary     Unknown    Unknown                                   No controller has processed it yet",
  ]);
  expect(states.map(({ fine }) => fine)).toEqual([false, false, false]);
});

test("a policy is healthy if it is Complete, without Error, and not known as not Ready", () => {
  const status = { observedGeneration: 2, currentState: "primary" as const };
  const fine = (conditions: Condition[]) => policyState(policy({ desiredState: "primary" }, { ...status, conditions }), NOW).fine;
  expect(fine(complete)).toBe(true);
  expect(fine([...complete, condition("Ready", "True")])).toBe(true);
  expect(fine([...complete, condition("Ready", "False")])).toBe(false);
  expect(fine([condition("Complete", "True"), condition("Error", "True", "Drifted", "volume data")])).toBe(false);
});

test("the copy of a primary is that of its oldest volume, and an unreachable peer is shown", () => {
  const volumes = [60, 600, 30].map((seconds) => ({ name: `v${seconds}`, lastSyncTime: ago(seconds) }));
  const state = policyState(
    policy(
      { desiredState: "primary", peer },
      {
        observedGeneration: 2,
        conditions: complete,
        volumeReplicationStatuses: volumes,
        peer: { reachable: false, message: "connection refused" },
      },
    ),
    NOW,
  );
  expect(state).toMatchObject({
    copiedAt: ago(600),
    peer: "Unreachable",
    inTheWay: "Cannot read the other site: connection refused",
  });
});
