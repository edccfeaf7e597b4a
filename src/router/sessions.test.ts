import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { routerVnis } from "./metrics.ts";
import { type FrrAnswer, RouterSessionPoller } from "./sessions.ts";

beforeEach(() => vi.useFakeTimers({ now: new Date("2026-11-16T02:00:00Z") }));
afterEach(() => vi.useRealTimers());

const established = (sinceMs: number, neighbor = "192.0.2.1") => ({ vrf: "default", neighbor, state: "Established", sinceMs });
const vni = (macs: number, state = "Up") => ({ vni: 100, type: "L2" as const, vrf: "red", state, macs });

/** A poller of an FRR that answers as the test says. */
function pollerOf(first: Partial<FrrAnswer> | Error) {
  const calls: string[] = [];
  let next = first;
  let polls = 0;
  let vniPolls = 0;
  const poller = new RouterSessionPoller({
    poll(scope) {
      polls += 1;
      if (scope.vnis) vniPolls += 1;
      if (next instanceof Error) return Promise.reject(next);
      const { vnis = [], ...rest } = next;
      return Promise.resolve({ sessions: [], identity: "1", isConnected: true, ...rest, ...(scope.vnis && { vnis }) });
    },
    onChange: () => calls.push("change"),
    onRestart: () => calls.push("restart"),
  });
  const stop = new AbortController();
  const ended = poller.run(stop.signal);
  return {
    poller,
    calls,
    polls: () => polls,
    vniPolls: () => vniPolls,
    async answer(rest: Partial<FrrAnswer> | Error, ms = 1_200) {
      next = rest;
      await vi.advanceTimersByTimeAsync(ms);
    },
    async stop() {
      stop.abort();
      await ended;
    },
  };
}

test("polls every second and notifies only about state changes", async () => {
  const harness = pollerOf({ sessions: [established(5_000)], vnis: [vni(1)] });
  await harness.answer({ sessions: [established(5_000)], vnis: [vni(1)] }, 0);
  expect(harness.calls).toEqual(["change"]);
  for (let second = 1; second <= 30; second++)
    await harness.answer({ sessions: [established(5_000 + second * 1_000)], vnis: [vni(second)] }, 1_000);
  expect(harness.calls).toEqual(["change"]);
  expect(harness.polls()).toBeGreaterThan(27);
  await harness.answer({ sessions: [{ vrf: "default", neighbor: "192.0.2.1", state: "Active" }], vnis: [vni(1)] });
  await harness.answer({ sessions: [{ vrf: "default", neighbor: "192.0.2.1", state: "Active" }], vnis: [vni(1, "Down")] });
  expect(harness.calls).toEqual(["change", "change", "change"]);
  await harness.stop();
});

test("VNIs are polled less often without changes, and at once after a change", async () => {
  const harness = pollerOf({ vnis: [vni(1)] });
  await vi.advanceTimersByTimeAsync(20_000);
  const [polls, before] = [harness.polls(), harness.vniPolls()];
  await vi.advanceTimersByTimeAsync(60_000);
  expect(harness.vniPolls() - before).toBeGreaterThanOrEqual(10);
  expect(harness.vniPolls() - before).toBeLessThanOrEqual(Math.ceil((harness.polls() - polls) / 5));
  expect(harness.poller.state?.vnis).toEqual([vni(1)]);

  await harness.answer({ vnis: [vni(1, "Down")] }, 6_000);
  expect(harness.calls).toEqual(["change", "change"]);
  await vi.advanceTimersByTimeAsync(20_000);
  harness.poller.includeVnis();
  await harness.answer({ vnis: [vni(1)] });
  expect(harness.calls).toEqual(["change", "change", "change"]);
  await harness.stop();
});

test("the start time of a session does not drift with FRR's clock", async () => {
  const harness = pollerOf({ sessions: [established(60_000)] });
  await harness.answer({ sessions: [established(61_900)] });
  await harness.answer({ sessions: [established(62_000)] });
  expect(harness.poller.state?.sessions).toEqual([
    { vrf: "default", neighbor: "192.0.2.1", state: "Established", since: "2026-11-16T01:59:00Z" },
  ]);
  await harness.stop();
});

test("a session that flapped between two polls has a new start time", async () => {
  const harness = pollerOf({ sessions: [established(60_000)] });
  await harness.answer({ sessions: [established(0)] });
  expect(harness.poller.state?.sessions[0]?.since).toMatch(/^2026-11-16T02:00:0[01]Z$/);
  expect(harness.calls).toEqual(["change", "change"]);
  await harness.stop();
});

test("a session that changes between two polls has the current time", async () => {
  const harness = pollerOf({ sessions: [established(60_000)] });
  await harness.answer({ sessions: [{ vrf: "default", neighbor: "192.0.2.1", state: "Idle" }] });
  expect(harness.poller.state?.sessions[0]?.since).toMatch(/^2026-11-16T02:00:0[01]Z$/);
  await harness.stop();
});

test("the start time of a session stays while FRR does not answer", async () => {
  const harness = pollerOf({ sessions: [established(1_000)] });
  await vi.advanceTimersByTimeAsync(0);
  await harness.answer(new Error("gone"), 1_100);
  expect(harness.poller.state).toBeUndefined();
  // FRR counts whole seconds, and answers in its own time.
  await harness.answer({ sessions: [established(1_000)] }, 1_500);
  expect(harness.poller.state?.sessions).toMatchObject([{ state: "Established", since: "2026-11-16T01:59:59Z" }]);
  await harness.stop();
});

test("an FRR that does not answer makes the sessions unknown, is polled with backoff, and notifies once", async () => {
  const harness = pollerOf({ sessions: [established(1_000)] });
  await harness.answer(Object.assign(new Error("nobody answers"), { code: "Unreachable" }));
  expect(harness.poller.state).toBeUndefined();
  expect(harness.calls).toEqual(["change", "restart", "change"]);
  const before = harness.polls();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(harness.polls() - before).toBeLessThan(30);
  expect(harness.calls).toEqual(["change", "restart", "change"]);
  await harness.answer({ sessions: [established(0)] }, 6_000);
  expect(harness.calls.at(-1)).toBe("change");
  await harness.stop();
});

test("a restarted daemon is detected by its identity", async () => {
  const harness = pollerOf({});
  await harness.answer({ identity: "2" });
  expect(harness.calls).toEqual(["change", "restart"]);
  await harness.stop();
});

const trying = (state: string) => ({ sessions: [{ vrf: "default", neighbor: "192.0.2.1", state }] });

test("a session that keeps trying to connect has one state", async () => {
  const harness = pollerOf(trying("Active"));
  for (const state of ["Connect", "OpenSent", "Idle", "Active"]) await harness.answer(trying(state));
  expect(harness.calls).toEqual(["change"]);
  await harness.answer(trying("Idle (Admin)"));
  expect(harness.poller.state?.sessions[0]?.state).toBe("Idle (Admin)");
  await harness.stop();
});

const counted = async () =>
  (await routerVnis.get()).values
    .filter(({ value }) => value > 0)
    .map(({ labels, value }) => [labels["type"], labels["state"], value].join(" "));

test("the VNIs are counted by type and state, and not while FRR does not answer", async () => {
  const harness = pollerOf({ vnis: [vni(1), { ...vni(1, "Down"), vni: 101 }, { ...vni(1, "Down"), vni: 102, type: "L3" }] });
  await vi.advanceTimersByTimeAsync(0);
  expect(await counted()).toEqual(["l2 up 1", "l2 down 1", "l3 down 1"]);
  await harness.answer(new Error("gone"));
  expect(await counted()).toEqual([]);
  await harness.stop();
});

test("another cause of the same state is a change", async () => {
  const harness = pollerOf({ vnis: [{ ...vni(1, "Down"), message: "vni100 is down" }] });
  await harness.answer({ vnis: [{ ...vni(1, "Down"), message: "VRF red is down" }] });
  expect(harness.calls).toEqual(["change", "change"]);
  await harness.stop();
});
