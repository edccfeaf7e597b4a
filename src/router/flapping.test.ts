import { expect, test } from "vitest";
import { pass, useWriterHarness } from "../kube/testing/writer-harness.ts";
import type { Failure } from "../resilience/failure.ts";
import { onlyObserved, type PassOutcome, report, setLastUpdateTime } from "./report.ts";

const good: PassOutcome = { selected: [], failures: [], live: new Map() };
const failure: Failure = {
  kind: "L2VNI",
  name: "a",
  namespace: "openperouter-system",
  reason: "ValidationFailed",
  field: "",
  message: "x",
  class: "Permanent",
};

const harness = useWriterHarness();

test("a flapping session causes a few writes at once, then one in ten seconds, and its final state is written", async () => {
  const writer = harness().start({ stamp: setLastUpdateTime, damps: onlyObserved });
  const publish = (state: string, outcome = good) =>
    writer.set("n1", { create: {}, status: report(outcome, { sessions: [{ vrf: "default", neighbor: "192.0.2.1", state }], vnis: [] }) });
  const writes = () =>
    harness()
      .api.take()
      .filter((request) => request.startsWith("patchStatus")).length;
  publish("Established");
  await pass(60_000);
  writes();

  for (let second = 0; second < 300; second++) {
    publish(second % 2 === 0 ? "Idle" : "Established");
    await pass(1_000);
  }
  const flapping = writes();
  expect(flapping).toBeGreaterThan(25);
  expect(flapping).toBeLessThanOrEqual(5 + 30);

  publish("Idle");
  await pass(10_000);
  expect(harness().status()?.conditions?.[2]).toMatchObject({ type: "SessionsEstablished", status: "False" });
  // What becomes of the configuration does not wait.
  publish("Established");
  publish("Idle", { ...good, failures: [failure] });
  await pass(100);
  expect(harness().status()?.conditions?.[0]).toMatchObject({ type: "Ready", status: "False" });
});

test("a session that goes down after a quiet time is in the status at once, and so is its recovery", async () => {
  const writer = harness().start({ stamp: setLastUpdateTime, damps: onlyObserved });
  const publish = (state: string) =>
    writer.set("n1", { create: {}, status: report(good, { sessions: [{ vrf: "default", neighbor: "192.0.2.1", state }], vnis: [] }) });
  publish("Established");
  await pass(60_000);
  for (const state of ["Idle", "Established"]) {
    publish(state);
    await pass(100);
    expect(harness().status()?.sessions?.[0]?.state).toBe(state);
  }
});
