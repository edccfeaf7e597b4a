import { expect, test } from "vitest";
import type { FailoverPolicy, FailoverStatus } from "../../api/failover/failover-policy.ts";
import { plain } from "../print/color.ts";
import { drawProgress, blockedBy, progressLines, transitionState } from "./progress.ts";
import { ago, NOW, policy, waiting } from "../testing/failover-fixtures.ts";

const requested = { to: "secondary", generation: 2 } as const;
type Conditions = NonNullable<FailoverStatus["conditions"]>;

function conditions(trueOne: string, reason = trueOne, message = ""): Conditions {
  return ["Complete", "InProgress", "Error"].map((type) => {
    const isTrue = type === trueOne;
    return {
      type,
      status: isTrue ? "True" : "False",
      reason: isTrue ? reason : "No",
      message: isTrue ? message : "",
      lastTransitionTime: ago(1),
    };
  });
}

test.for<[FailoverStatus | undefined, string]>([
  [undefined, "unseen"],
  [{ observedGeneration: 1, conditions: conditions("Complete") }, "unseen"],
  [{ observedGeneration: 2, conditions: conditions("InProgress") }, "running"],
  [{ observedGeneration: 2, conditions: conditions("Complete") }, "complete"],
  [{ observedGeneration: 3, conditions: conditions("Complete") }, "complete"],
  [{ observedGeneration: 2, conditions: conditions("Error", "Conflict") }, "refused"],
  [{ observedGeneration: 1, conditions: conditions("Error", "Conflict") }, "unseen"],
  [{ observedGeneration: 2, conditions: conditions("Error", "NotFound") }, "running"],
])("a status of %j means that the switch is %s", ([status, is]) => {
  expect(transitionState(policy({}, status), requested).is).toBe(is);
});

test("a new request in the meantime supersedes it", () => {
  expect(
    transitionState(policy({ desiredState: "primary" }, { observedGeneration: 2, conditions: conditions("Complete") }), requested).is,
  ).toBe("superseded");
});

/** The same a moment later: the step that waited is done, and the next one is refused. */
const later: FailoverPolicy = policy(
  {},
  {
    ...waiting,
    conditions: conditions("Error", "VolumeError", "VolumeReplication data: FailedToDemote"),
    transition: {
      to: "secondary",
      mode: "safe",
      generation: 2,
      startTime: ago(40),
      steps: [
        { name: "SuspendFlux", state: "Done", startTime: ago(40), completionTime: ago(40) },
        { name: "ScaleDown", state: "Done", startTime: ago(40), completionTime: ago(38) },
        { name: "AwaitTermination", state: "Done", startTime: ago(38), completionTime: ago(3) },
        { name: "DemoteVolumes", state: "Running", startTime: ago(3) },
      ],
    },
  },
);

test("each step is printed once when it starts to wait and once when it is done", () => {
  const now = policy({}, waiting);
  const writing = structuredClone(now);
  for (const step of writing.status?.transition?.steps ?? []) if (step.state === "Waiting") step.state = "Running";
  expect(progressLines(undefined, now, requested, NOW)).toEqual([
    "SuspendFlux done after 0s",
    "ScaleDown done after 2s",
    "AwaitTermination waits: Pod shop/db-0 belongs to StatefulSet db and is terminating (and 2 more), for 38s",
  ]);
  expect(progressLines(now, now, requested, NOW + 5000)).toEqual([]);
  expect(progressLines(writing, now, requested, NOW)).toEqual([]);
  expect(progressLines(now, later, requested, NOW)).toEqual([
    "AwaitTermination done after 35s",
    "Error VolumeError: VolumeReplication data: FailedToDemote",
  ]);
  expect(progressLines(later, now, requested, NOW).at(-1)).toBe("Error cleared");
});

test("steps of an earlier switch are not printed", () => {
  expect(progressLines(undefined, policy({}, { ...waiting, observedGeneration: 1 }), requested, NOW)).toEqual([]);
  expect(drawProgress(policy({}, { ...waiting, observedGeneration: 1 }), requested, { since: NOW - 4000, now: NOW, paint: plain })).toEqual(
    ["FailoverPolicy shop/web to secondary, 4s", "", "No controller has processed it yet."],
  );
});

test("a terminal shows the steps, the current wait, errors and whether the other site answers", () => {
  const status = { ...later.status, peer: { reachable: false, message: "connect ECONNREFUSED" } };
  const peer = { kubeconfigSecret: { name: "b", key: "kubeconfig" } };
  const lines = drawProgress(policy({ peer }, status), requested, { since: NOW - 41_000, now: NOW, paint: plain });
  expect([lines[0], ...lines.slice(7)]).toEqual([
    "FailoverPolicy shop/web to secondary, 41s",
    "",
    "Waiting for Pod shop/db-0",
    "VolumeError: VolumeReplication data: FailedToDemote",
    "Cannot read the other site: connect ECONNREFUSED",
  ]);
});

test("prints what the switch waits for when the user stops watching", () => {
  expect(blockedBy(policy({}, waiting), requested, NOW)).toBe(
    "AwaitTermination waits: Pod shop/db-0 belongs to StatefulSet db and is terminating (and 2 more), for 38s",
  );
  expect(blockedBy(later, requested, NOW)).toBe("VolumeError: VolumeReplication data: FailedToDemote");
  expect(blockedBy(policy({}), requested, NOW)).toBe("no controller has processed it; is plumbline controller running?");
});
