import { expect, test } from "vitest";
import type { FailoverPolicy, FailoverStatus } from "../../api/failover/failover-policy.ts";
import { plain } from "../print/color.ts";
import { drawProgress, heldUpBy, news, standingOf } from "./progress.ts";
import { ago, NOW, policy, waiting } from "../testing/failover-fixtures.ts";

const asked = { to: "secondary", generation: 2 } as const;
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
  [{ observedGeneration: 2, conditions: conditions("Error", "Contested") }, "refused"],
  [{ observedGeneration: 1, conditions: conditions("Error", "Contested") }, "unseen"],
  [{ observedGeneration: 2, conditions: conditions("Error", "NotFound") }, "running"],
])("a status of %j means that the switch is %s", ([status, is]) => {
  expect(standingOf(policy({}, status), asked).is).toBe(is);
});

test("who asks for something else in the meantime ends it", () => {
  expect(standingOf(policy({ desiredState: "primary" }, { observedGeneration: 2, conditions: conditions("Complete") }), asked).is).toBe(
    "superseded",
  );
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

test("each step is told once when it begins to wait and once when it is done", () => {
  const now = policy({}, waiting);
  const writing = structuredClone(now);
  for (const step of writing.status?.transition?.steps ?? []) if (step.state === "Waiting") step.state = "Running";
  expect(news(undefined, now, asked, NOW)).toEqual([
    "SuspendFlux done after 0s",
    "ScaleDown done after 2s",
    "AwaitTermination waits: Pod shop/db-0 belongs to StatefulSet db and is terminating (and 2 more), for 38s",
  ]);
  expect(news(now, now, asked, NOW + 5000)).toEqual([]);
  expect(news(writing, now, asked, NOW)).toEqual([]);
  expect(news(now, later, asked, NOW)).toEqual([
    "AwaitTermination done after 35s",
    "Error VolumeError: VolumeReplication data: FailedToDemote",
  ]);
  expect(news(later, now, asked, NOW).at(-1)).toBe("Error is over");
});

test("what an earlier switch did is no news of this one", () => {
  expect(news(undefined, policy({}, { ...waiting, observedGeneration: 1 }), asked, NOW)).toEqual([]);
  expect(drawProgress(policy({}, { ...waiting, observedGeneration: 1 }), asked, { since: NOW - 4000, now: NOW, paint: plain })).toEqual([
    "FailoverPolicy shop/web to secondary, 4s",
    "",
    "No controller has taken it up yet.",
  ]);
});

test("a terminal shows the steps, what is going on, what is wrong and whether the other site answers", () => {
  const status = { ...later.status, peer: { reachable: false, message: "connect ECONNREFUSED" } };
  const peer = { kubeconfigSecret: { name: "b", key: "kubeconfig" } };
  const lines = drawProgress(policy({ peer }, status), asked, { since: NOW - 41_000, now: NOW, paint: plain });
  expect([lines[0], ...lines.slice(7)]).toEqual([
    "FailoverPolicy shop/web to secondary, 41s",
    "",
    "Waiting for Pod shop/db-0",
    "VolumeError: VolumeReplication data: FailedToDemote",
    "The other site cannot be asked: connect ECONNREFUSED",
  ]);
});

test("who stops watching is told what holds it up", () => {
  expect(heldUpBy(policy({}, waiting), asked, NOW)).toBe(
    "AwaitTermination waits: Pod shop/db-0 belongs to StatefulSet db and is terminating (and 2 more), for 38s",
  );
  expect(heldUpBy(later, asked, NOW)).toBe("VolumeError: VolumeReplication data: FailedToDemote");
  expect(heldUpBy(policy({}), asked, NOW)).toBe("no controller has taken it up; is plumbline controller running?");
});
