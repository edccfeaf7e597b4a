import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { registry } from "../../../kube/metrics.ts";
import { SessionPoller } from "./sessions.ts";

beforeEach(() => vi.useFakeTimers({ now: new Date("2026-11-16T02:00:00Z") }));
afterEach(() => vi.useRealTimers());

interface Neighbor {
  bgpState: string;
  bgpTimerUpMsec?: number;
  connectionsEstablished?: number;
  connectionsDropped?: number;
  lastResetTimerMsecs?: number;
  lastResetDueTo?: string;
  lastNotificationReason?: string;
  portForeign?: number;
  peerBfdInfo?: { status: string };
  messageStats?: Record<string, number>;
  addressFamilyInfo?: Record<string, Record<string, number>>;
}

type Said = Record<string, Record<string, Neighbor>> | Error;

const TOR = "192.0.2.1";
const only = (neighbor: Neighbor): Said => ({ default: { [TOR]: neighbor } });
const established = (upMs: number, more: Partial<Neighbor> = {}) =>
  only({ bgpState: "Established", bgpTimerUpMsec: upMs, connectionsEstablished: 1, ...more });

/** A poll of an FRR that says what the test last told it to. */
function pollOf(first: Said, everyMs?: number) {
  const heard: string[] = [];
  let next = first;
  let identity = "1";
  const asked = { bgp: 0, bfd: 0 };
  let hasBfd = true;
  let held: Promise<void> | undefined;
  const answer = async (line: string) => {
    if (next instanceof Error) throw next;
    const isBfd = line.startsWith("show bfd");
    if (isBfd && !hasBfd) throw new Error("bfdd: not running");
    asked[isBfd ? "bfd" : "bgp"] += 1;
    const bfd = [{ peer: TOR, vrf: "default", "control-packet-input": 7, "session-down": 2 }];
    const text = JSON.stringify(isBfd ? bfd : next);
    await held;
    return { status: 0, text };
  };
  const poll = new SessionPoller({
    router: { vty: () => Promise.resolve({ run: answer }), identity: (daemon) => Promise.resolve(`${daemon} ${identity}`) },
    ...(everyMs !== undefined && { everyMs }),
    onChange: () => heard.push("change"),
    onRestart: () => heard.push("restart"),
  });
  const stop = new AbortController();
  const ended = poll.run(stop.signal);
  return {
    poll,
    heard,
    asked,
    bfdIsGone: () => (hasBfd = false),
    /** What FRR says from now on stays underway until it is let go. */
    holdAnswer() {
      const hold = Promise.withResolvers<void>();
      held = hold.promise;
      return hold;
    },
    async say(said: Said, { ms = 1_200, run = identity }: { ms?: number; run?: string } = {}) {
      next = said;
      identity = run;
      await vi.advanceTimersByTimeAsync(ms);
    },
    async stop() {
      stop.abort();
      await ended;
    },
  };
}

test("a session is reported with FRR's state and its start time", async () => {
  const said = established(60_000, {
    peerBfdInfo: { status: "Up" },
    connectionsDropped: 1,
    lastResetDueTo: "No AFI/SAFI activated for peer",
  });
  const stage = pollOf(said);
  await stage.say(said, { ms: 0 });
  expect(stage.poll.spoken).toEqual([
    {
      vrf: "default",
      neighbor: TOR,
      state: "Established",
      bfd: "Up",
      since: "2026-11-16T01:59:00Z",
      lastResetReason: "No AFI/SAFI activated for peer",
    },
  ]);
  await stage.stop();
});

test("what a session waited for before it first came up is no reset", async () => {
  const stage = pollOf(only({ bgpState: "OpenSent", lastResetDueTo: "Waiting for peer OPEN" }));
  await vi.advanceTimersByTimeAsync(0);
  expect(stage.poll.spoken).toMatchObject([{ lastResetReason: "Waiting for peer OPEN" }]);
  await stage.say(established(100, { connectionsDropped: 0, lastResetDueTo: "Waiting for peer OPEN" }));
  expect(stage.poll.spoken).toMatchObject([{ state: "Established" }]);
  expect(stage.poll.spoken?.[0]).not.toHaveProperty("lastResetReason");
  await stage.stop();
});

test("counters of BFD that cannot be had cost no session its state", async () => {
  const stage = pollOf(established(1_000, { peerBfdInfo: { status: "Up" } }));
  await vi.advanceTimersByTimeAsync(0);
  stage.bfdIsGone();
  const up = (ms: number) => established(ms, { peerBfdInfo: { status: "Up" } });
  for (let second = 2; second <= 30; second++) await stage.say(up(second * 1_000), { ms: 1_000 });
  expect(stage.heard).toEqual(["change"]);
  expect(await shown("metallb_bfd_session_up")).toEqual([`metallb_bfd_session_up{peer="${TOR}",vrf="default"} 1`]);
  expect(await shown("metallb_bfd_session_down_events")).toEqual([]);
  await stage.stop();
});

test("sessions of several VRFs are told apart, and BFD is N/A where there is none", async () => {
  const stage = pollOf({ default: { [TOR]: { bgpState: "Active" } }, red: { [TOR]: { bgpState: "Idle" } } });
  await vi.advanceTimersByTimeAsync(0);
  expect(stage.poll.spoken).toEqual([
    { vrf: "default", neighbor: TOR, state: "Active", bfd: "N/A" },
    { vrf: "red", neighbor: TOR, state: "Idle", bfd: "N/A" },
  ]);
  await stage.stop();
});

test("asks every second, and rings only when a state changes", async () => {
  const stage = pollOf(established(5_000));
  await vi.advanceTimersByTimeAsync(0);
  for (let second = 1; second <= 30; second++) await stage.say(established(5_000 + second * 1_000), { ms: 1_000 });
  expect(stage.heard).toEqual(["change"]);
  expect(stage.asked.bgp).toBeGreaterThan(27);
  await stage.say(established(40_000, { peerBfdInfo: { status: "Down" } }));
  await stage.say(only({ bgpState: "Active", connectionsEstablished: 1, lastResetTimerMsecs: 500 }));
  expect(stage.heard).toEqual(["change", "change", "change"]);
  await stage.stop();
});

test("polls at the configured interval", async () => {
  const stage = pollOf(established(0), 10_000);
  await vi.advanceTimersByTimeAsync(55_000);
  expect(stage.asked.bgp).toBeLessThan(8);
  await stage.stop();
});

test("a session that goes round without coming up is one state, and each reason is news once", async () => {
  const stage = pollOf(only({ bgpState: "Active", lastResetDueTo: "Waiting for NHT" }));
  await vi.advanceTimersByTimeAsync(0);
  const rejected = { lastResetDueTo: "BGP Notification send", lastNotificationReason: "OPEN Message Error/Bad Peer AS" };
  for (let round = 0; round < 10; round++) {
    await stage.say(only({ bgpState: "Connect", ...rejected }));
    await stage.say(only({ bgpState: "OpenSent", lastResetDueTo: "Waiting for NHT" }));
  }
  expect(stage.heard).toEqual(["change", "change"]);
  expect(stage.poll.spoken).toEqual([
    {
      vrf: "default",
      neighbor: TOR,
      state: "Active",
      bfd: "N/A",
      lastResetReason: "BGP Notification send: OPEN Message Error/Bad Peer AS",
    },
  ]);
  await stage.stop();
});

test("down and up again between two questions is seen", async () => {
  const stage = pollOf(established(3_600_000));
  await vi.advanceTimersByTimeAsync(0);
  await stage.say(established(200));
  expect(stage.heard).toEqual(["change", "change"]);
  await stage.stop();
});

test("an FRR that does not answer is asked again, ever less often, and nothing is said of its sessions meanwhile", async () => {
  const stage = pollOf(established(1_000));
  await vi.advanceTimersByTimeAsync(0);
  await stage.say(new Error("gone"), { ms: 60_000 });
  expect(stage.poll.spoken).toBeUndefined();
  expect(stage.heard).toEqual(["change", "restart", "change"]);
  await stage.say(established(500), { ms: 6_000 });
  expect(stage.poll.spoken).toHaveLength(1);
  await stage.stop();
});

test("the moment a session began stands still over a silence of FRR", async () => {
  const stage = pollOf(established(1_000));
  await vi.advanceTimersByTimeAsync(0);
  await stage.say(new Error("gone"), { ms: 1_100 });
  expect(stage.poll.spoken).toBeUndefined();
  // FRR counts whole seconds, and answers in its own time.
  await stage.say(established(1_000), { ms: 1_500 });
  expect(stage.poll.spoken).toMatchObject([{ state: "Established", since: "2026-11-16T01:59:59Z" }]);
  await stage.stop();
});

test("what is said of a neighbor is over with it, also what is being said, and one that comes again begins anew", async () => {
  const stage = pollOf(established(3_600_000));
  await vi.advanceTimersByTimeAsync(0);
  const waiting = stage.holdAnswer();
  await stage.say(established(3_601_000));
  stage.poll.forget(new Set([`default ${TOR}`]));
  expect(stage.poll.spoken).toEqual([]);
  await stage.say({ default: {} }, { ms: 0 });
  waiting.resolve();
  await vi.advanceTimersByTimeAsync(0);
  expect(stage.poll.spoken).toEqual([]);
  await stage.say(established(0));
  expect(stage.poll.spoken).toMatchObject([{ since: "2026-11-16T02:00:02Z" }]);
  expect(stage.heard).toEqual(["change", "change"]);
  await stage.stop();
});

test("a restarted daemon is noticed although it answers", async () => {
  const stage = pollOf(established(1_000));
  await vi.advanceTimersByTimeAsync(0);
  await stage.say(established(2_000), { run: "2" });
  expect(stage.heard).toEqual(["change", "restart"]);
  await stage.stop();
});

test("a neighbor that is gone is looked after at once: a person may have taken it away", async () => {
  const stage = pollOf(established(1_000));
  await vi.advanceTimersByTimeAsync(0);
  await stage.say({ default: {} });
  expect(stage.heard).toEqual(["change", "restart", "change"]);
  await stage.stop();
});

const shown = async (metric: string) => (await registry.metrics()).split("\n").filter((line) => line.startsWith(`${metric}{`));

test("MetalLB's metrics have each session, and none that is gone", async () => {
  const said = established(1_000, {
    portForeign: 1179,
    peerBfdInfo: { status: "Up" },
    messageStats: { updatesSent: 12 },
    addressFamilyInfo: { ipv4Unicast: { sentPrefixCounter: 3 }, ipv6Unicast: { sentPrefixCounter: 4 } },
  });
  const stage = pollOf(said);
  await vi.advanceTimersByTimeAsync(0);
  const labels = `peer="${TOR}:1179",vrf="default"`;
  expect(await shown("metallb_bgp_session_up")).toEqual([`metallb_bgp_session_up{${labels}} 1`]);
  expect(await shown("metallb_bgp_announced_prefixes_total")).toEqual([`metallb_bgp_announced_prefixes_total{${labels}} 7`]);
  expect(await shown("metallb_bgp_updates_total")).toEqual([`metallb_bgp_updates_total{${labels}} 12`]);
  expect(await shown("metallb_bfd_session_up")).toEqual([`metallb_bfd_session_up{peer="${TOR}",vrf="default"} 1`]);
  expect(await shown("metallb_bfd_session_down_events")).toEqual([`metallb_bfd_session_down_events{peer="${TOR}",vrf="default"} 2`]);
  await stage.say({}, { ms: 15_000 });
  expect(await shown("metallb_bgp_session_up")).toEqual([]);
  expect(await shown("metallb_bfd_session_up")).toEqual([]);
  await stage.stop();
});
