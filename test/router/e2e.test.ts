import { afterAll, beforeAll, describe, vi } from "vitest";
import { TestLab } from "../support/router-lab.ts";
import { failureTests } from "./e2e/failures.ts";
import { faultTests } from "./e2e/faults.ts";
import { trafficTests } from "./e2e/traffic.ts";

// A lab on a busy machine takes its time, and nothing here is about time.
vi.setConfig({ testTimeout: 900_000, hookTimeout: 900_000 });

/** One lab for all, one after the other: on two cores two labs would only hold each other up. */
let started: TestLab | undefined;
const lab = (): TestLab => {
  if (!started) throw new Error("the lab did not come up");
  return started;
};

beforeAll(async () => {
  started = await TestLab.start();
});
afterAll(() => started?.stop());

describe("traffic", () => {
  trafficTests(lab);
});
describe("failures", () => {
  failureTests(lab);
});
describe("faults", () => {
  faultTests(lab);
});
