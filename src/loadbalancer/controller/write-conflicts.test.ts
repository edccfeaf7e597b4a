import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Service } from "../../api/core/service.ts";
import { servicesWithWriteConflicts } from "../metrics.ts";
import { WriteConflicts, conflictingManager } from "./write-conflicts.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** The number of Services with a reported conflict. */
const contested = async () => (await servicesWithWriteConflicts.get()).values[0]?.value;

/** Overwrites at once whatever is written, for so long; how often it was put back. */
function fight(conflicts: WriteConflicts, minutes: number): number {
  let repairs = 0;
  for (const end = performance.now() + minutes * 60_000; performance.now() < end;) {
    const action = conflicts.beforeWrite("shop/web", "192.0.2.0");
    if (action.is === "repair") repairs += 1;
    vi.advanceTimersByTime(action.is === "wait" ? action.ms : 10);
  }
  return repairs;
}

test("new values are written, and occasional changes by others are reverted at once", async () => {
  const conflicts = new WriteConflicts();
  expect(conflicts.beforeWrite("shop/web", "192.0.2.0")).toEqual({ is: "news" });
  conflicts.afterWrite("shop/web", "192.0.2.0");
  expect(conflicts.beforeWrite("shop/web", "192.0.2.1")).toEqual({ is: "news" });
  expect(conflicts.beforeWrite("shop/web", "192.0.2.0")).toEqual({ is: "repair", begins: false });
  expect(conflicts.beforeWrite("shop/web", "192.0.2.0")).toEqual({ is: "repair", begins: false });
  expect([conflicts.whenUnchanged("shop/web"), await contested()]).toEqual([undefined, 0]);
  expect(conflicts.beforeWrite("shop/web", "192.0.2.0")).toEqual({ is: "repair", begins: true });
  expect(conflicts.beforeWrite("shop/web", "192.0.2.0")).toMatchObject({ is: "wait" });
  expect(await contested()).toBe(1);
});

test("an hour of a persistent other writer causes a few dozen writes and one conflict", async () => {
  const conflicts = new WriteConflicts();
  conflicts.afterWrite("shop/web", "192.0.2.0");
  expect(fight(conflicts, 60)).toBeLessThan(40);
  expect(await contested()).toBe(1);
  conflicts.forget("shop/web");
  expect(await contested()).toBe(0);
});

test("a conflict ends after a quiet time, and the next change is reverted at once", async () => {
  const conflicts = new WriteConflicts();
  conflicts.afterWrite("shop/web", "192.0.2.0");
  fight(conflicts, 10);
  const rest = conflicts.whenUnchanged("shop/web");
  expect(rest).toBeGreaterThan(60_000);
  vi.advanceTimersByTime(rest as number);
  expect(conflicts.whenUnchanged("shop/web")).toBe("over");
  expect([conflicts.whenUnchanged("shop/web"), await contested()]).toEqual([undefined, 0]);
  expect(conflicts.beforeWrite("shop/web", "192.0.2.0")).toEqual({ is: "repair", begins: false });
});

test("a Service with new addresses, or without changes for long, is no longer in conflict", async () => {
  const conflicts = new WriteConflicts();
  conflicts.afterWrite("shop/web", "192.0.2.0");
  fight(conflicts, 1);
  expect(await contested()).toBe(1);
  conflicts.afterWrite("shop/web", "192.0.2.1");
  expect(await contested()).toBe(0);
  conflicts.afterWrite("shop/web", "192.0.2.0");
  fight(conflicts, 10);
  vi.advanceTimersByTime(3_600_000);
  conflicts.beforeWrite("shop/web", "192.0.2.0");
  expect(await contested()).toBe(0);
  fight(conflicts, 1);
  conflicts.clear();
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
