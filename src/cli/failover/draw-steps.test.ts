import { expect, test } from "vitest";
import { plain } from "../print/color.ts";
import { drawSteps } from "./draw-steps.ts";
import { ago, NOW, policy, waiting } from "../testing/failover-fixtures.ts";
import { type TransitionRecord, switchesOf } from "./transitions.ts";

const drawn = (made: TransitionRecord) => drawSteps(made, NOW, plain);

test("steps are drawn with their time within the switch and what they wait for", () => {
  const [made] = switchesOf(policy({}, waiting));
  expect(made && drawn(made)).toEqual([
    "STEP               STATE     TOOK   WHEN",
    "SuspendFlux        Done      0s     =",
    "ScaleDown          Done      2s     =",
    "AwaitTermination   Waiting   38s     ===================",
    "  waits: Pod shop/db-0 belongs to StatefulSet db and is terminating (and 2 more), for 38s",
    "DemoteVolumes      Pending",
  ]);
});

test("a completed switch is drawn to its end, also one without duration", () => {
  const over: TransitionRecord = {
    to: "primary",
    mode: "safe",
    generation: 1,
    outcome: "Completed",
    startTime: ago(100),
    completionTime: ago(80),
    steps: [],
    course: [
      { name: "PromoteVolumes", state: "Done", startTime: ago(100), completionTime: ago(90) },
      { name: "ResumeFlux", state: "Done", startTime: ago(80), completionTime: ago(80) },
    ],
  };
  expect(drawn(over)).toEqual([
    "STEP             STATE   TOOK   WHEN",
    "PromoteVolumes   Done    10s    ==========",
    "ResumeFlux       Done    0s                        =",
  ]);
  const course = [{ name: "ResumeFlux", state: "Done" as const, startTime: ago(80), completionTime: ago(80) }];
  expect(drawn({ ...over, startTime: ago(80), course })[1]).toBe("ResumeFlux   Done    0s     =");
});
