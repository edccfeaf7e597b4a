import { expect, test } from "vitest";
import { Deployment } from "../../api/core/deployment.ts";
import type { SwitchPlan, SwitchStep, PlannedWrite } from "../../failover/steps/step.ts";
import { plain } from "../print/color.ts";
import { drawPlan, isBlocked } from "./draw-plan.ts";
import type { PolicyFailure } from "../../failover/policy/failure.ts";

const write = (description: string): PlannedWrite => ({ kind: Deployment, object: { metadata: { name: "web" } }, patch: {}, description });
const step = (name: SwitchStep["name"], state: SwitchStep["state"], more: Partial<SwitchStep> = {}): SwitchStep => ({
  name,
  state,
  writes: [],
  waits: [],
  ...more,
});
const db = { kind: "Pod", namespace: "shop", name: "db-0", message: "Pod shop/db-0 belongs to StatefulSet db and runs on node node1" };
const gone: PolicyFailure = {
  kind: "VolumeReplication",
  namespace: "shop",
  name: "data",
  reason: "NotFound",
  message: "It does not exist",
  class: "Transient",
};

function plan(steps: readonly SwitchStep[], more: Partial<SwitchPlan> = {}): SwitchPlan {
  return {
    to: "secondary",
    mode: "safe",
    rejections: [],
    notes: [],
    failures: [],
    steps,
    resources: [],
    currentState: "primary",
    complete: false,
    writesStopped: false,
    priorStates: [],
    ready: { status: "Unknown", reason: "InProgress", findings: [] },
    ...more,
  };
}

test("a plan is its steps in their order, each with its writes and what it waits for", () => {
  const steps = [
    step("SuspendFlux", "Done"),
    step("ScaleDown", "Act", { writes: [write("scale Deployment shop/web from 3 to 0"), write("scale StatefulSet shop/db from 1 to 0")] }),
    step("AwaitTermination", "Pending", { waits: [db] }),
    step("ReleaseToken", "Pending", { token: { epoch: 3, state: "Released" } }),
  ];
  expect(drawPlan(plan(steps), plain)).toEqual([
    "#     STEP               WHEN   WHAT",
    "1     SuspendFlux        done",
    "2     ScaleDown          now    scale Deployment shop/web from 3 to 0",
    "                                scale StatefulSet shop/db from 1 to 0",
    "3     AwaitTermination   then   wait: Pod shop/db-0 belongs to StatefulSet db and runs on node node1",
    "4     ReleaseToken       then   set the token to Released, epoch 3",
  ]);
});

test("rejections and failures come before the steps", () => {
  const invalid: PolicyFailure = {
    ...gone,
    kind: "FailoverPolicy",
    name: "web",
    reason: "Invalid",
    field: "spec",
    message: "It names nothing",
    class: "Permanent",
  };
  expect(drawPlan(plan([], { rejections: [invalid], failures: [gone] }), plain)).toEqual([
    "Rejected, nothing is written:",
    "  FailoverPolicy shop/web: Invalid: spec: It names nothing",
    "",
    "Failed:",
    "  VolumeReplication shop/data: NotFound: It does not exist",
    "",
    "#     STEP   WHEN   WHAT",
  ]);
});

test("resources that stay as they are are listed after the steps", () => {
  const resource = { kind: "Kustomization", namespace: "shop", name: "site", field: "" } as const;
  const left = { resource, state: "Suspended", message: "Left suspended: it was suspended before" };
  const late = {
    resource: { ...resource, kind: "Deployment", name: "web" },
    state: "Scaling Down",
    error: "1/0/0/0",
    message: "Pod web-1",
  } as const;
  expect(drawPlan(plan([step("ResumeFlux", "Done")], { to: "primary", resources: [left, late] }), plain)).toEqual([
    "#     STEP         WHEN   WHAT",
    "1     ResumeFlux   done",
    "",
    "Notes:",
    "  Kustomization shop/site: Left suspended: it was suspended before",
  ]);
});

test("a step with many writes is truncated", () => {
  const writes = Array.from({ length: 50 }, (_, at) => write(`scale Deployment shop/web${at} from 1 to 0`));
  const lines = drawPlan(plan([step("ScaleDown", "Act", { writes })]), plain);
  expect(lines).toHaveLength(22);
  expect(lines.at(-1)?.trim()).toBe("and 30 more; -o json has all of them");
});

test("a plan is blocked by objects that no step changes, not by those that a step changes", () => {
  const later = step("AwaitTermination", "Pending", { waits: [db] });
  expect(isBlocked(plan([step("ScaleDown", "Act", { writes: [write("scale")] }), later]))).toBe(false);
  expect(isBlocked(plan([step("ScaleDown", "Done"), step("AwaitTermination", "Wait", { waits: [db] })]))).toBe(true);
  // What comes last may wait for the first all along.
  expect(isBlocked(plan([step("ScaleDown", "Act", { writes: [write("scale")] }), step("ReleaseToken", "Wait", { waits: [db] })]))).toBe(
    false,
  );
  expect(isBlocked(plan([later], { failures: [gone] }))).toBe(true);
  expect(isBlocked(plan([], { rejections: [gone] }))).toBe(true);
});
