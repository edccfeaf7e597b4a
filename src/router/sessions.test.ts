import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { routerVnis } from "./metrics.ts";
import { type FrrAnswer, RouterSessionPoller } from "./sessions.ts";

beforeEach(() => vi.useFakeTimers({ now: new Date("2026-11-16T02:00:00Z") }));
afterEach(() => vi.useRealTimers());

const established = (sinceMs: number, neighbor = "192.0.2.1") => ({ vrf: "default", neighbor, state: "Established", sinceMs });
const vni = (macs: number, state = "Up") => ({ vni: 100, type: "L2" as const, vrf: "red", state, macs });

/** A poller of an FRR that answers as the test says. */
function watchOn(first: Partial<FrrAnswer> | Error) {
  const heard: string[] = [];
  let next = first;
  let asked = 0;
  let askedForVnis = 0;
  const watch = new RouterSessionPoller({
    ask(question) {
      asked += 1;
      if (question.vnis) askedForVnis += 1;
      if (next instanceof Error) return Promise.reject(next);
      const { vnis = [], ...said } = next;
      return Promise.resolve({ sessions: [], identity: "1", ...said, ...(question.vnis && { vnis }) });
    },
    onChange: () => heard.push("change"),
    onRestart: () => heard.push("restart"),
  });
  const stop = new AbortController();
  const ended = watch.run(stop.signal);
  return {
    watch,
    heard,
    asked: () => asked,
    askedForVnis: () => askedForVnis,
    async say(said: Partial<FrrAnswer> | Error, ms = 1_200) {
      next = said;
      await vi.advanceTimersByTimeAsync(ms);
    },
    async stop() {
      stop.abort();
      await ended;
    },
  };
}

test("asks every second, and rings only when a state changes", async () => {
  const stage = watchOn({ sessions: [established(5_000)], vnis: [vni(1)] });
  await stage.say({ sessions: [established(5_000)], vnis: [vni(1)] }, 0);
  expect(stage.heard).toEqual(["change"]);
  for (let second = 1; second <= 30; second++)
    await stage.say({ sessions: [established(5_000 + second * 1_000)], vnis: [vni(second)] }, 1_000);
  expect(stage.heard).toEqual(["change"]);
  expect(stage.asked()).toBeGreaterThan(27);
  await stage.say({ sessions: [{ vrf: "default", neighbor: "192.0.2.1", state: "Active" }], vnis: [vni(1)] });
  await stage.say({ sessions: [{ vrf: "default", neighbor: "192.0.2.1", state: "Active" }], vnis: [vni(1, "Down")] });
  expect(stage.heard).toEqual(["change", "change", "change"]);
  await stage.stop();
});

test("VNIs are asked for less often once nothing happens, and at once when something does", async () => {
  const stage = watchOn({ vnis: [vni(1)] });
  await vi.advanceTimersByTimeAsync(20_000);
  const [asked, before] = [stage.asked(), stage.askedForVnis()];
  await vi.advanceTimersByTimeAsync(60_000);
  expect(stage.askedForVnis() - before).toBeGreaterThanOrEqual(10);
  expect(stage.askedForVnis() - before).toBeLessThanOrEqual(Math.ceil((stage.asked() - asked) / 5));
  expect(stage.watch.spoken?.vnis).toEqual([vni(1)]);

  await stage.say({ vnis: [vni(1, "Down")] }, 6_000);
  expect(stage.heard).toEqual(["change", "change"]);
  await vi.advanceTimersByTimeAsync(20_000);
  stage.watch.stir();
  await stage.say({ vnis: [vni(1)] });
  expect(stage.heard).toEqual(["change", "change", "change"]);
  await stage.stop();
});

test("the moment a session began does not wander with FRR's clock", async () => {
  const stage = watchOn({ sessions: [established(60_000)] });
  await stage.say({ sessions: [established(61_900)] });
  await stage.say({ sessions: [established(62_000)] });
  expect(stage.watch.spoken?.sessions).toEqual([
    { vrf: "default", neighbor: "192.0.2.1", state: "Established", since: "2026-11-16T01:59:00Z" },
  ]);
  await stage.stop();
});

test("a session that flapped between two polls has a new start time", async () => {
  const stage = watchOn({ sessions: [established(60_000)] });
  await stage.say({ sessions: [established(0)] });
  expect(stage.watch.spoken?.sessions[0]?.since).toMatch(/^2026-11-16T02:00:0[01]Z$/);
  expect(stage.heard).toEqual(["change", "change"]);
  await stage.stop();
});

test("a session that changes before our eyes has changed now", async () => {
  const stage = watchOn({ sessions: [established(60_000)] });
  await stage.say({ sessions: [{ vrf: "default", neighbor: "192.0.2.1", state: "Idle" }] });
  expect(stage.watch.spoken?.sessions[0]?.since).toMatch(/^2026-11-16T02:00:0[01]Z$/);
  await stage.stop();
});

test("the start time of a session stays while FRR does not answer", async () => {
  const stage = watchOn({ sessions: [established(1_000)] });
  await vi.advanceTimersByTimeAsync(0);
  await stage.say(new Error("gone"), 1_100);
  expect(stage.watch.spoken).toBeUndefined();
  // FRR counts whole seconds, and answers in its own time.
  await stage.say({ sessions: [established(1_000)] }, 1_500);
  expect(stage.watch.spoken?.sessions).toMatchObject([{ state: "Established", since: "2026-11-16T01:59:59Z" }]);
  await stage.stop();
});

test("an FRR that does not answer is no longer quoted, asked less and less often, and rings once", async () => {
  const stage = watchOn({ sessions: [established(1_000)] });
  await stage.say(Object.assign(new Error("nobody answers"), { code: "Unreachable" }));
  expect(stage.watch.spoken).toBeUndefined();
  expect(stage.heard).toEqual(["change", "restart", "change"]);
  const before = stage.asked();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(stage.asked() - before).toBeLessThan(30);
  expect(stage.heard).toEqual(["change", "restart", "change"]);
  await stage.say({ sessions: [established(0)] }, 6_000);
  expect(stage.heard.at(-1)).toBe("change");
  await stage.stop();
});

test("a restarted daemon is detected by its identity", async () => {
  const stage = watchOn({});
  await stage.say({ identity: "2" });
  expect(stage.heard).toEqual(["change", "restart"]);
  await stage.stop();
});

const trying = (state: string) => ({ sessions: [{ vrf: "default", neighbor: "192.0.2.1", state }] });

test("a session that keeps trying to connect has one state", async () => {
  const stage = watchOn(trying("Active"));
  for (const state of ["Connect", "OpenSent", "Idle", "Active"]) await stage.say(trying(state));
  expect(stage.heard).toEqual(["change"]);
  await stage.say(trying("Idle (Admin)"));
  expect(stage.watch.spoken?.sessions[0]?.state).toBe("Idle (Admin)");
  await stage.stop();
});

const counted = async () =>
  (await routerVnis.get()).values
    .filter(({ value }) => value > 0)
    .map(({ labels, value }) => [labels["type"], labels["state"], value].join(" "));

test("the VNIs are counted by type and state, and not while FRR does not answer", async () => {
  const stage = watchOn({ vnis: [vni(1), { ...vni(1, "Down"), vni: 101 }, { ...vni(1, "Down"), vni: 102, type: "L3" }] });
  await vi.advanceTimersByTimeAsync(0);
  expect(await counted()).toEqual(["l2 up 1", "l2 down 1", "l3 down 1"]);
  await stage.say(new Error("gone"));
  expect(await counted()).toEqual([]);
  await stage.stop();
});

test("another cause of the same state is a change", async () => {
  const stage = watchOn({ vnis: [{ ...vni(1, "Down"), message: "vni100 is down" }] });
  await stage.say({ vnis: [{ ...vni(1, "Down"), message: "VRF red is down" }] });
  expect(stage.heard).toEqual(["change", "change"]);
  await stage.stop();
});
