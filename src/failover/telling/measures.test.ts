import { afterEach, expect, test } from "vitest";
import type { FailoverStatus } from "../../api/failover/failover-policy.ts";
import { failoverBothHold, failoverInProgress } from "../metrics.ts";
import type { Plan } from "../step.ts";
import { counted, countedOut } from "./measures.ts";

const KEY = "shop/orders";
const nothing = { refusals: [], failures: [] } as unknown as Plan;

const count = (status: FailoverStatus) => counted(KEY, status, nothing, [], { events: [], steps: [] });
const values = async () => [await failoverInProgress.get(), await failoverBothHold.get()].map((metric) => metric.values[0]?.value);

afterEach(() => countedOut(KEY));

function inProgress(status: "True" | "False"): FailoverStatus {
  return { conditions: [{ type: "InProgress", status, reason: "ScaleDown", message: "", lastTransitionTime: "2026-11-16T12:00:00Z" }] };
}

test("a switch counts as under way for as long as the status says so", async () => {
  count(inProgress("True"));
  expect(await values()).toEqual([1, 0]);
  count(inProgress("False"));
  expect(await values()).toEqual([0, 0]);
});

test("two sites that hold the token are counted, and one that has released it is not", async () => {
  const held = { epoch: 4, state: "Held" } as const;
  count({ token: held, peer: { reachable: true, token: { epoch: 5, state: "Held" } } });
  expect(await values()).toEqual([0, 1]);
  count({ token: held, peer: { reachable: true, token: { epoch: 5, state: "Released" } } });
  expect(await values()).toEqual([0, 0]);
});

test("a policy that is gone is not counted", async () => {
  count(inProgress("True"));
  countedOut(KEY);
  expect(await values()).toEqual([undefined, undefined]);
});
