import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { ServiceLab } from "../support/service-lab.ts";
import { announcingTests } from "./e2e/announcing.ts";
import { lossTests } from "./e2e/failures.ts";
import { plannedTests } from "./e2e/planned.ts";
import { strangerTests } from "./e2e/duplicate-address.ts";

// A lab on a busy machine takes its time, and nothing here is about time.
vi.setConfig({ testTimeout: 900_000, hookTimeout: 900_000 });

/** One cluster for all, one after the other. */
let started: ServiceLab | undefined;
const lab = (): ServiceLab => {
  if (!started) throw new Error("the lab did not come up");
  return started;
};

beforeAll(async () => {
  started = await ServiceLab.start();
});
afterAll(() => started?.stop());

describe("announcing", () => {
  announcingTests(lab);
});
describe("planned changes", () => {
  plannedTests(lab);
});
describe("failures", () => {
  lossTests(lab);
});

test("at no time an address of the segment was on two nodes, or two machines answered for one", () => {
  expect(lab().addressHistory.turns.length).toBeGreaterThan(0);
  expect(lab().addressHistory.overlaps).toEqual([]);
});

describe("other machines", () => {
  strangerTests(lab);
});
