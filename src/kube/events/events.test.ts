import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Event } from "../../api/core/event.ts";
import type { KubeObject } from "../../api/kind.ts";
import type { KubeClient } from "../client/client.ts";
import { KubeError, type KubeErrorCode } from "../client/error.ts";
import { EventRecorder } from "./events.ts";
import { createLog } from "../log.ts";
import { events } from "../metrics.ts";

let recorder: EventRecorder;
let stop: AbortController;
let run: Promise<void>;
let stored: Map<string, Event>;
let calls: string[];
let broken: KubeErrorCode | undefined;
let loseAnswers: boolean;
let before: Record<string, number>;

beforeEach(async () => {
  vi.useFakeTimers();
  stored = new Map();
  calls = [];
  broken = undefined;
  loseAnswers = false;
  before = {};
  before = await outcomes();
  const client = { resource: () => ({ create, patch }) } as unknown as KubeClient;
  recorder = new EventRecorder({ client, component: "plumbline-controller", instance: "pod-1", log: createLog({ level: "silent" }) });
  stop = new AbortController();
  run = recorder.run(stop.signal);
});

afterEach(async () => {
  stop.abort();
  await vi.advanceTimersByTimeAsync(3000);
  await run;
  vi.useRealTimers();
});

async function create(event: Event, { signal }: { signal: AbortSignal }): Promise<void> {
  signal.throwIfAborted();
  calls.push("create");
  if (broken) throw new KubeError(broken, "broken");
  if (stored.has(event.metadata.name)) throw new KubeError("AlreadyExists", "there is one");
  stored.set(event.metadata.name, event);
  if (loseAnswers) throw new KubeError("Unreachable", "connection reset");
}

async function patch(ref: { name: string; namespace: string }, change: Partial<Event>): Promise<void> {
  calls.push("patch");
  if (broken) throw new KubeError(broken, "broken");
  const event = stored.get(ref.name);
  if (!event || event.metadata.namespace !== ref.namespace) throw new KubeError("NotFound", "gone");
  stored.set(ref.name, { ...event, ...change });
}

async function outcomes(): Promise<Record<string, number>> {
  const { values } = await events.get();
  return Object.fromEntries(
    values
      .map(({ labels, value }) => [String(labels.outcome), value - (before[String(labels.outcome)] ?? 0)])
      .filter(([, value]) => value !== 0),
  );
}

const lamp = (name: string): KubeObject => ({
  apiVersion: "lamps/v1",
  kind: "Lamp",
  metadata: { name, namespace: "hall", uid: `uid-${name}`, resourceVersion: "7" },
});
const soon = () => vi.advanceTimersByTimeAsync(0);
const messages = () => [...stored.values()].map(({ message, count }) => `${message} x${count}`);
const red = { type: "Normal", reason: "Lit", message: "burns red" } as const;

test("an Event is created with its object", async () => {
  recorder.record(lamp("a"), red);
  await soon();
  expect([...stored.values()]).toMatchObject([
    {
      metadata: { namespace: "hall" },
      involvedObject: { apiVersion: "lamps/v1", kind: "Lamp", namespace: "hall", name: "a", uid: "uid-a", resourceVersion: "7" },
      type: "Normal",
      reason: "Lit",
      message: "burns red",
      count: 1,
      source: { component: "plumbline-controller" },
      reportingInstance: "pod-1",
    },
  ]);
});

test("a repetition patches the count", async () => {
  recorder.record(lamp("a"), red);
  await soon();
  recorder.record(lamp("a"), red);
  await soon();
  expect(calls).toEqual(["create", "patch"]);
  expect(messages()).toEqual(["burns red x2"]);
  expect(await outcomes()).toEqual({ created: 1, counted: 1 });
});

test("repetitions while it waits are written once with the total count", async () => {
  for (let n = 0; n < 5; n++) recorder.record(lamp("a"), red);
  await soon();
  expect(calls).toEqual(["create"]);
  expect(messages()).toEqual(["burns red x5"]);
});

test("an Event that is recorded at the end of a round is still written", async () => {
  for (let ticks = 0; ticks < 12; ticks++) {
    stored.clear();
    recorder.record(lamp(`a-${ticks}`), red);
    for (let n = 0; n < ticks; n++) await Promise.resolve();
    recorder.record(lamp(`b-${ticks}`), red);
    await soon();
    expect(stored.size).toBe(2);
  }
});

test("an Event that the server no longer has is created again, with its count", async () => {
  recorder.record(lamp("a"), red);
  await soon();
  stored.clear();
  recorder.record(lamp("a"), red);
  await soon();
  expect(messages()).toEqual(["burns red x2"]);
});

test("a create whose response was lost is not repeated as a second Event", async () => {
  loseAnswers = true;
  recorder.record(lamp("a"), red);
  await soon();
  loseAnswers = false;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(messages()).toEqual(["burns red x1"]);
  expect(await outcomes()).toEqual({ created: 1 });
});

test("Events wait while the server is unreachable, and are written in order afterwards", async () => {
  broken = "Unreachable";
  recorder.record(lamp("a"), red);
  recorder.record(lamp("b"), red);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(stored.size).toBe(0);
  broken = undefined;
  await vi.advanceTimersByTimeAsync(60_000);
  expect([...stored.values()].map(({ involvedObject }) => involvedObject.name)).toEqual(["a", "b"]);
});

test("attempts back off and end", async () => {
  broken = "ServerError";
  recorder.record(lamp("a"), red);
  await vi.advanceTimersByTimeAsync(1000);
  expect(calls.length).toBeLessThanOrEqual(4);
  await vi.advanceTimersByTimeAsync(600_000);
  expect(calls).toHaveLength(12);
  expect(await outcomes()).toEqual({ failed: 1 });
});

test("a rejected Event is not retried and does not delay the next", async () => {
  broken = "Forbidden";
  recorder.record(lamp("a"), red);
  await soon();
  broken = undefined;
  recorder.record(lamp("b"), red);
  await soon();
  expect(calls).toEqual(["create", "create"]);
  expect(await outcomes()).toEqual({ failed: 1, created: 1 });
});

test("at most a thousand Events wait, and those beyond the share of one object are dropped", async () => {
  broken = "Unreachable";
  for (let n = 0; n < 1010; n++) recorder.record(lamp(`lamp-${n}`), red);
  for (let n = 0; n < 30; n++) recorder.record(lamp("lamp-5"), red);
  expect(await outcomes()).toEqual({ dropped: 10 + 6 });
  broken = undefined;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(stored.size).toBe(1000);
});

test("waiting Events are written before the stop", async () => {
  for (let n = 0; n < 50; n++) recorder.record(lamp(`lamp-${n}`), red);
  stop.abort();
  await soon();
  await run;
  expect(stored.size).toBe(50);
  expect(vi.getTimerCount()).toBe(0);
});

test("an unreachable server does not delay the shutdown, and lost Events are counted", async () => {
  broken = "Unreachable";
  recorder.record(lamp("a"), red);
  recorder.record(lamp("b"), red);
  stop.abort();
  await vi.advanceTimersByTimeAsync(3000);
  await run;
  expect(await outcomes()).toEqual({ dropped: 2 });
  expect(vi.getTimerCount()).toBe(0);
  broken = undefined;
  stop = new AbortController();
  run = recorder.run(stop.signal);
  await soon();
  expect(stored.size).toBe(0);
});

test("an Event recorded between two runs waits for the second", async () => {
  stop.abort();
  await soon();
  await run;
  recorder.record(lamp("between"), red);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(calls).toEqual([]);
  stop = new AbortController();
  run = recorder.run(stop.signal);
  await soon();
  expect([...stored.values()].map(({ involvedObject }) => involvedObject.name)).toEqual(["between"]);
});
