import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Service } from "../../api/core/service.ts";
import { contestedServices } from "../metrics.ts";
import { Contests } from "./write-conflicts.ts";
import { rivalIn } from "./other-writer.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** How many Services people are told of. */
const contested = async () => (await contestedServices.get()).values[0]?.value;

/** Overwrites at once whatever is written, for so long; how often it was put back. */
function fight(contests: Contests, minutes: number): number {
  let repairs = 0;
  for (const end = performance.now() + minutes * 60_000; performance.now() < end;) {
    const turn = contests.look("shop/web", "192.0.2.0");
    if (turn.is === "repair") repairs += 1;
    vi.advanceTimersByTime(turn.is === "wait" ? turn.ms : 10);
  }
  return repairs;
}

test("what is new is written, and what somebody changed is put back at once, as long as it is not done again and again", async () => {
  const contests = new Contests();
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

test("an hour of somebody who never gives in costs a few dozen writes, and is one contest", async () => {
  const contests = new Contests();
  contests.wrote("shop/web", "192.0.2.0");
  expect(fight(contests, 60)).toBeLessThan(40);
  expect(await contested()).toBe(1);
  contests.forget("shop/web");
  expect(await contested()).toBe(0);
});

test("when it has stood for a while it is over, and the next change is put back at once", async () => {
  const contests = new Contests();
  contests.wrote("shop/web", "192.0.2.0");
  fight(contests, 10);
  const rest = contests.rest("shop/web");
  expect(rest).toBeGreaterThan(60_000);
  vi.advanceTimersByTime(rest as number);
  expect(contests.rest("shop/web")).toBe("over");
  expect([contests.rest("shop/web"), await contested()]).toEqual([undefined, 0]);
  expect(contests.look("shop/web", "192.0.2.0")).toEqual({ is: "repair", begins: false });
});

test("who is given other addresses meanwhile, or was left alone for long, is contested no more", async () => {
  const contests = new Contests();
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

test("the rival is who owns the addresses by the server's account, and nobody where it says nothing", () => {
  expect(
    rivalIn(
      service(
        owning("kubectl", "2026-01-01T00:00:09Z", { "f:spec": {} }),
        owning("old", "2026-01-01T00:00:01Z", loadBalancer),
        owning("cloud-controller", "2026-01-01T00:00:05Z", loadBalancer),
      ),
    ),
  ).toBe("cloud-controller");
  expect(rivalIn(service(owning("kubectl", "2026-01-01T00:00:09Z", { "f:status": {} }), {}))).toBeUndefined();
  expect(rivalIn({ metadata: { name: "web" }, spec: { type: "LoadBalancer" } })).toBeUndefined();
});
