import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Service } from "../../api/core/service.ts";
import { servicesWithWriteConflicts } from "../metrics.ts";
import { WriteConflicts } from "./write-conflicts.ts";
import { conflictingManager } from "./other-writer.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** How many Services people are told of. */
const contested = async () => (await servicesWithWriteConflicts.get()).values[0]?.value;

/** Overwrites at once whatever is written, for so long; how often it was put back. */
function fight(contests: WriteConflicts, minutes: number): number {
  let repairs = 0;
  for (const end = performance.now() + minutes * 60_000; performance.now() < end;) {
    const turn = contests.look("shop/web", "192.0.2.0");
    if (turn.is === "repair") repairs += 1;
    vi.advanceTimersByTime(turn.is === "wait" ? turn.ms : 10);
  }
  return repairs;
}

test("new values are written, and occasional changes by others are reverted at once", async () => {
  const contests = new WriteConflicts();
  expect(contests.look("shop/web", "192.0.2.0")).toEqual({ is: "news" });
  contests.wrote("shop/web", "192.0.2.0");
  expect(contests.look("shop/web", "192.0.2.1")).toEqual({ is: "news" });
  expect(contests.look("shop/web", "192.0.2.0")).toEqual({ is: "repair", begins: false });
  expect(contests.look("shop/web", "192.0.2.0")).toEqual({ is: "repair", begins: false });
  expect([contests.rest("shop/web"), await contested()]).toEqual([undefined, 0]);
  expect(contests.look("shop/web", "192.0.2.0")).toEqual({ is: "repair", begins: true });
  expect(contests.look("shop/web", "192.0.2.0")).toMatchObject({ is: "wait" });
  expect(await contested()).toBe(1);
});

test("an hour of a persistent other writer causes a few dozen writes and one conflict", async () => {
  const contests = new WriteConflicts();
  contests.wrote("shop/web", "192.0.2.0");
  expect(fight(contests, 60)).toBeLessThan(40);
  expect(await contested()).toBe(1);
  contests.forget("shop/web");
  expect(await contested()).toBe(0);
});

test("when it has stood for a while it is over, and the next change is put back at once", async () => {
  const contests = new WriteConflicts();
  contests.wrote("shop/web", "192.0.2.0");
  fight(contests, 10);
  const rest = contests.rest("shop/web");
  expect(rest).toBeGreaterThan(60_000);
  vi.advanceTimersByTime(rest as number);
  expect(contests.rest("shop/web")).toBe("over");
  expect([contests.rest("shop/web"), await contested()]).toEqual([undefined, 0]);
  expect(contests.look("shop/web", "192.0.2.0")).toEqual({ is: "repair", begins: false });
});

test("a Service with new addresses, or without changes for long, is no longer in conflict", async () => {
  const contests = new WriteConflicts();
  contests.wrote("shop/web", "192.0.2.0");
  fight(contests, 1);
  expect(await contested()).toBe(1);
  contests.wrote("shop/web", "192.0.2.1");
  expect(await contested()).toBe(0);
  contests.wrote("shop/web", "192.0.2.0");
  fight(contests, 10);
  vi.advanceTimersByTime(3_600_000);
  contests.look("shop/web", "192.0.2.0");
  expect(await contested()).toBe(0);
  fight(contests, 1);
  contests.clear();
  expect(await contested()).toBe(0);
});

const owning = (manager: string, time: string, fieldsV1: object) => ({ manager, time, fieldsV1, operation: "Update" });
const loadBalancer = { "f:status": { "f:loadBalancer": { "f:ingress": {} } } };
const service = (...managedFields: unknown[]): Service => ({ metadata: { name: "web", managedFields }, spec: { type: "LoadBalancer" } });

test("the other writer comes from managedFields, and is unknown without them", () => {
  expect(
    conflictingManager(
      service(
        owning("kubectl", "2026-01-01T00:00:09Z", { "f:spec": {} }),
        owning("old", "2026-01-01T00:00:01Z", loadBalancer),
        owning("cloud-controller", "2026-01-01T00:00:05Z", loadBalancer),
      ),
    ),
  ).toBe("cloud-controller");
  expect(conflictingManager(service(owning("kubectl", "2026-01-01T00:00:09Z", { "f:status": {} }), {}))).toBeUndefined();
  expect(conflictingManager({ metadata: { name: "web" }, spec: { type: "LoadBalancer" } })).toBeUndefined();
});
