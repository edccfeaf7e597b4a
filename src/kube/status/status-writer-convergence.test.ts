import * as fc from "fast-check";
import { afterEach, expect, test, vi } from "vitest";
import type { ConditionStatus } from "../../api/kind.ts";
import type { ModelFault } from "../testing/api-model.ts";
import { pass, ready, WriterHarness, type Report } from "../testing/writer-harness.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** `npm run soak` plays a thousand courses a minute, never the same. */
const SOAK_MINUTES = Number(process.env["PLUMBLINE_SOAK_MINUTES"] ?? 0);
const COURSES = SOAK_MINUTES > 0 ? { seed: Date.now() % 1_000_000, numRuns: 1000 * SOAK_MINUTES } : { seed: 3, numRuns: 100 };
const timeout = 20_000 + 120_000 * SOAK_MINUTES;

const KEYS = ["ns/a", "ns/b", "ns/c"] as const;
type Key = (typeof KEYS)[number];

type Event =
  | { do: "set"; key: Key; status: ConditionStatus; message: string; times: number }
  | { do: "forget" | "delete" | "foreign-edit" | "foreign-label" | "foreign-delete" | "foreign-create"; key: Key }
  | { do: "fault"; fault: ModelFault }
  | { do: "watch"; lagMs: number }
  | { do: "latency"; ms: number }
  | { do: "cut" | "relist" }
  | { do: "pass"; ms: number };

const key = fc.constantFrom(...KEYS);
const event: fc.Arbitrary<Event> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("set" as const),
      key,
      status: fc.constantFrom<ConditionStatus>("True", "False", "Unknown"),
      message: fc.constantFrom("one", "two", "three"),
      times: fc.constantFrom(1, 1, 3),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom("forget", "delete", "foreign-edit", "foreign-edit", "foreign-label", "foreign-delete", "foreign-create"),
      key,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("fault" as const),
      fault: fc.constantFrom<ModelFault>("lost", "answer-lost", "busy", "rejected"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("watch" as const), lagMs: fc.constantFrom(0, 1, 5, 200, 5000) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("latency" as const), ms: fc.constantFrom(0, 1, 3, 50) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("cut" as const, "relist" as const) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("pass" as const), ms: fc.constantFrom(0, 1, 1, 2, 5, 30, 1000, 20_000) }) },
);

/** The last request to the writer about an object: to write this status, to delete it, or none. */
type Desired = Report | "gone" | undefined;

async function play(harness: WriterHarness, course: readonly Event[]): Promise<Map<Key, Desired>> {
  const { api } = harness;
  const desired = new Map<Key, Desired>();
  const writer = harness.start();
  for (const event of course) {
    switch (event.do) {
      case "set":
        for (let n = event.times; n > 0; n--) writer.set(event.key, ready(event.status, n > 1 ? `not yet ${n}` : event.message));
        desired.set(event.key, ready(event.status, event.message));
        break;
      case "forget":
        writer.forget(event.key);
        desired.delete(event.key);
        break;
      case "delete":
        writer.delete(event.key, () => true);
        desired.set(event.key, "gone");
        break;
      case "foreign-edit":
        api.edit(event.key, () => ({ status: { conditions: [], failedResources: [] } }));
        break;
      case "foreign-label":
        api.edit(event.key, ({ metadata }) => ({ metadata: { ...metadata, labels: { node: "theirs", theirs: "yes" } } }));
        break;
      case "foreign-delete":
        api.remove(event.key);
        break;
      case "foreign-create":
        if (!api.object(event.key)) api.add({ metadata: { namespace: "ns", name: event.key.slice(3) } });
        break;
      case "fault":
        api.faults.push(event.fault);
        break;
      case "watch":
        api.watchLagMs = Math.max(api.watchLagMs, event.lagMs);
        break;
      case "latency":
        api.latencyMs = event.ms;
        break;
      case "cut":
        api.cut();
        break;
      case "relist":
        api.relist();
        break;
      case "pass":
        await pass(event.ms);
    }
  }
  return desired;
}

const conditionsOf = ({ status }: Report) =>
  typeof status === "function" ? undefined : status.conditions?.map(({ status, message }) => ({ status, message }));

/** The stored objects that the writer manages. Others may have created a deleted object again. */
function published(harness: WriterHarness, desired: Map<Key, Desired>) {
  return [...desired].map(([key, report]) => {
    const object = harness.api.object(key);
    if (report === "gone") return { key };
    return {
      key,
      status: object?.status && {
        ...object.status,
        conditions: object.status.conditions?.map(({ status, message }) => ({ status, message })),
      },
      label: object?.metadata.labels?.node,
    };
  });
}

const expected = (desired: Map<Key, Desired>) =>
  [...desired].map(([key, report]) =>
    report === "gone" || !report ? { key } : { key, status: { conditions: conditionsOf(report) }, label: "n1" },
  );

test("for any history the stored status converges to the newest, and nothing more is sent", { timeout }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { minLength: 5, maxLength: 60 }), async (course) => {
      vi.useFakeTimers();
      const harness = new WriterHarness();
      const desired = await play(harness, course);
      harness.api.faults.splice(0);
      harness.api.latencyMs = 1;
      harness.api.relist();
      // Longer than the longest wait that a refused picture earns.
      await pass(400_000);
      expect(published(harness, desired)).toEqual(expected(desired));

      harness.api.take();
      await pass(900_000);
      harness.api.cut();
      harness.api.relist();
      await pass(900_000);
      expect(harness.api.take()).toEqual([]);

      harness.stop.abort();
      await pass(60_000);
      await harness.ended;
      expect(harness.api.take()).toEqual([]);
      expect(vi.getTimerCount()).toBe(0);
    }),
    COURSES,
  );
});

test("the final statuses are written before a stop at any moment, if the server answers", { timeout }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { minLength: 5, maxLength: 60 }), async (course) => {
      vi.useFakeTimers();
      const harness = new WriterHarness();
      // What a foreign hand did a moment ago cannot be known yet, and what is refused now is not tried again.
      const desired = await play(
        harness,
        course.filter((event) => !event.do.startsWith("foreign") && !("fault" in event && event.fault === "rejected")),
      );
      harness.api.faults.splice(0);
      harness.api.latencyMs = 1;
      harness.stop.abort();
      await pass(5_000);
      await harness.ended;
      expect(published(harness, desired)).toEqual(expected(desired));
      await pass(60_000);
      expect(vi.getTimerCount()).toBe(0);
    }),
    COURSES,
  );
});
