import { expect, test } from "vitest";
import type { TransitionStep } from "../../src/cli/failover/transitions.ts";
import { StepDelays } from "./step-delays.ts";

const waits = (pod?: string): TransitionStep => ({
  name: "AwaitTermination",
  state: pod === undefined ? "Done" : "Waiting",
  ...(pod !== undefined && { waitingFor: { kind: "Pod", namespace: "shop", name: pod, message: "" } }),
});

test("a step is attributed to its longest wait, not to its last one", () => {
  const holdUps = new StepDelays();
  expect(holdUps.of("AwaitTermination")).toBeUndefined();
  for (const [pod, second] of [
    ["web", 0],
    ["db", 5],
    ["db", 9],
    ["cache", 20],
    [undefined, 21],
  ] as const)
    holdUps.see([waits(pod)], second * 1000);
  expect(holdUps.of("AwaitTermination")).toEqual({ object: "Pod shop/db", seconds: 15 });
});
