import { expect, test } from "vitest";
import { runInSlices } from "./sleep.ts";

function* busy(steps: number): Generator<number, string> {
  for (let step = 0; step < steps; step += 1) {
    const until = performance.now() + 2;
    while (performance.now() < until);
    yield step;
  }
  return "done";
}

test("others have their turn while it works", async () => {
  const happened: string[] = [];
  const timer = setInterval(() => happened.push("other"), 1);
  const result = await runInSlices(busy(30), new AbortController().signal, () => happened.push("step"));
  clearInterval(timer);
  expect(result).toBe("done");
  expect(happened.filter((what) => what === "step")).toHaveLength(30);
  expect(happened.indexOf("other")).toBeLessThan(happened.lastIndexOf("step"));
  expect(happened).toContain("other");
});

test("ends between two steps when the signal aborts", async () => {
  const stopping = new AbortController();
  const steps: number[] = [];
  const work = runInSlices(busy(1000), stopping.signal, (step) => {
    steps.push(step);
    if (step === 5) stopping.abort(new Error("stop"));
  });
  await expect(work).rejects.toThrow("abort");
  expect(steps.length).toBeLessThan(50);
});
