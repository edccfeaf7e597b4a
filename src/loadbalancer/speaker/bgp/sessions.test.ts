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

type Neighbors = Record<string, Record<string, Neighbor>> | Error;

const TOR = "192.0.2.1";
const only = (neighbor: Neighbor): Neighbors => ({ default: { [TOR]: neighbor } });
const established = (upMs: number, more: Partial<Neighbor> = {}) =>
  only({ bgpState: "Established", bgpTimerUpMsec: upMs, connectionsEstablished: 1, ...more });

/** Polls an FRR that answers with the last value of the test. */
function pollOf(first: Neighbors, everyMs?: number) {
  const heard: string[] = [];
  let next = first;
  let identity = "1";
  const polls = { bgp: 0, bfd: 0 };
  let hasBfd = true;
  let delayed: Promise<void> | undefined;
  const answer = async (line: string) => {
    if (next instanceof Error) throw next;
    const isBfd = line.startsWith("show bfd");
    if (isBfd && !hasBfd) throw new Error("bfdd: not running");
    polls[isBfd ? "bfd" : "bgp"] += 1;
    const bfd = [{ peer: TOR, vrf: "default", "control-packet-input": 7, "session-down": 2 }];
    const text = JSON.stringify(isBfd ? bfd : next);
    await delayed;
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
    polls,
    bfdIsGone: () => (hasBfd = false),
    /** Holds back the answers of FRR from now on until they are released. */
    holdAnswer() {
      const hold = Promise.withResolvers<void>();
      delayed = hold.promise;
      return hold;
    },
    async say(neighbors: Neighbors, { ms = 1_200, run = identity }: { ms?: number; run?: string } = {}) {
      next = neighbors;
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
  const neighbors = established(60_000, {
    peerBfdInfo: { status: "Up" },
    connectionsDropped: 1,
    lastResetDueTo: "No AFI/SAFI activated for peer",
  });
  const harness = pollOf(neighbors);
  await harness.say(neighbors, { ms: 0 });
  expect(harness.poll.sessions).toEqual([
    {
      vrf: "default",
      neighbor: TOR,
      state: "Established",
      bfd: "Up",
      since: "2026-11-16T01:59:00Z",
      lastResetReason: "No AFI/SAFI activated for peer",
    },
  ]);
  await harness.stop();
});

test("the wait before the first Established is not reported as a reset", async () => {
  const harness = pollOf(only({ bgpState: "OpenSent", lastResetDueTo: "Waiting for peer OPEN" }));
  await vi.advanceTimersByTimeAsync(0);
  expect(harness.poll.sessions).toMatchObject([{ lastResetReason: "Waiting for peer OPEN" }]);
  await harness.say(established(100, { connectionsDropped: 0, lastResetDueTo: "Waiting for peer OPEN" }));
  expect(harness.poll.sessions).toMatchObject([{ state: "Established" }]);
  expect(harness.poll.sessions?.[0]).not.toHaveProperty("lastResetReason");
  await harness.stop();
});

test("unavailable BFD counters do not affect the session state", async () => {
  const harness = pollOf(established(1_000, { peerBfdInfo: { status: "Up" } }));
  await vi.advanceTimersByTimeAsync(0);
  harness.bfdIsGone();
  const up = (ms: number) => established(ms, { peerBfdInfo: { status: "Up" } });
  for (let second = 2; second <= 30; second++) await harness.say(up(second * 1_000), { ms: 1_000 });
  expect(harness.heard).toEqual(["change"]);
  expect(await metricLines("metallb_bfd_session_up")).toEqual([`metallb_bfd_session_up{peer="${TOR}",vrf="default"} 1`]);
  expect(await metricLines("metallb_bfd_session_down_events")).toEqual([]);
  await harness.stop();
});

test("sessions are kept apart by VRF, and BFD is N/A without a BFD peer", async () => {
  const harness = pollOf({ default: { [TOR]: { bgpState: "Active" } }, red: { [TOR]: { bgpState: "Idle" } } });
  await vi.advanceTimersByTimeAsync(0);
  expect(harness.poll.sessions).toEqual([
    { vrf: "default", neighbor: TOR, state: "Active", bfd: "N/A" },
    { vrf: "red", neighbor: TOR, state: "Idle", bfd: "N/A" },
  ]);
  await harness.stop();
});

test("polls every second and notifies only about state changes", async () => {
  const harness = pollOf(established(5_000));
  await vi.advanceTimersByTimeAsync(0);
  for (let second = 1; second <= 30; second++) await harness.say(established(5_000 + second * 1_000), { ms: 1_000 });
  expect(harness.heard).toEqual(["change"]);
  expect(harness.polls.bgp).toBeGreaterThan(27);
  await harness.say(established(40_000, { peerBfdInfo: { status: "Down" } }));
  await harness.say(only({ bgpState: "Active", connectionsEstablished: 1, lastResetTimerMsecs: 500 }));
  expect(harness.heard).toEqual(["change", "change", "change"]);
  await harness.stop();
});

test("polls at the configured interval", async () => {
  const harness = pollOf(established(0), 10_000);
  await vi.advanceTimersByTimeAsync(55_000);
  expect(harness.polls.bgp).toBeLessThan(8);
  await harness.stop();
});

test("a session that cycles without Established counts as one state, and each reason is notified once", async () => {
  const harness = pollOf(only({ bgpState: "Active", lastResetDueTo: "Waiting for NHT" }));
  await vi.advanceTimersByTimeAsync(0);
  const rejected = { lastResetDueTo: "BGP Notification send", lastNotificationReason: "OPEN Message Error/Bad Peer AS" };
  for (let round = 0; round < 10; round++) {
    await harness.say(only({ bgpState: "Connect", ...rejected }));
    await harness.say(only({ bgpState: "OpenSent", lastResetDueTo: "Waiting for NHT" }));
  }
  expect(harness.heard).toEqual(["change", "change"]);
  expect(harness.poll.sessions).toEqual([
    {
      vrf: "default",
      neighbor: TOR,
      state: "Active",
      bfd: "N/A",
      lastResetReason: "BGP Notification send: OPEN Message Error/Bad Peer AS",
    },
  ]);
  await harness.stop();
});

test("a session that went down and up between two polls is noticed", async () => {
  const harness = pollOf(established(3_600_000));
  await vi.advanceTimersByTimeAsync(0);
  await harness.say(established(200));
  expect(harness.heard).toEqual(["change", "change"]);
  await harness.stop();
});

test("an FRR that does not answer is polled with backoff, and its sessions are unknown meanwhile", async () => {
  const harness = pollOf(established(1_000));
  await vi.advanceTimersByTimeAsync(0);
  await harness.say(new Error("gone"), { ms: 60_000 });
  expect(harness.poll.sessions).toBeUndefined();
  expect(harness.heard).toEqual(["change", "restart", "change"]);
  await harness.say(established(500), { ms: 6_000 });
  expect(harness.poll.sessions).toHaveLength(1);
  await harness.stop();
});

test("the start time of a session is stable while FRR does not answer", async () => {
  const harness = pollOf(established(1_000));
  await vi.advanceTimersByTimeAsync(0);
  await harness.say(new Error("gone"), { ms: 1_100 });
  expect(harness.poll.sessions).toBeUndefined();
  // FRR counts whole seconds, and its answer takes time.
  await harness.say(established(1_000), { ms: 1_500 });
  expect(harness.poll.sessions).toMatchObject([{ state: "Established", since: "2026-11-16T01:59:59Z" }]);
  await harness.stop();
});

test("a removed neighbor drops its state and a pending answer, and starts again when it is added back", async () => {
  const harness = pollOf(established(3_600_000));
  await vi.advanceTimersByTimeAsync(0);
  const waiting = harness.holdAnswer();
  await harness.say(established(3_601_000));
  harness.poll.forget(new Set([`default ${TOR}`]));
  expect(harness.poll.sessions).toEqual([]);
  await harness.say({ default: {} }, { ms: 0 });
  waiting.resolve();
  await vi.advanceTimersByTimeAsync(0);
  expect(harness.poll.sessions).toEqual([]);
  await harness.say(established(0));
  expect(harness.poll.sessions).toMatchObject([{ since: "2026-11-16T02:00:02Z" }]);
  expect(harness.heard).toEqual(["change", "change"]);
  await harness.stop();
});

test("a restarted daemon is noticed although it answers", async () => {
  const harness = pollOf(established(1_000));
  await vi.advanceTimersByTimeAsync(0);
  await harness.say(established(2_000), { run: "2" });
  expect(harness.heard).toEqual(["change", "restart"]);
  await harness.stop();
});

test("a neighbor that disappears from FRR triggers a pass at once", async () => {
  const harness = pollOf(established(1_000));
  await vi.advanceTimersByTimeAsync(0);
  await harness.say({ default: {} });
  expect(harness.heard).toEqual(["change", "restart", "change"]);
  await harness.stop();
});

const metricLines = async (metric: string) => (await registry.metrics()).split("\n").filter((line) => line.startsWith(`${metric}{`));

test("MetalLB's metrics contain each session, and none that is gone", async () => {
  const neighbors = established(1_000, {
    portForeign: 1179,
    peerBfdInfo: { status: "Up" },
    messageStats: { updatesSent: 12 },
    addressFamilyInfo: { ipv4Unicast: { sentPrefixCounter: 3 }, ipv6Unicast: { sentPrefixCounter: 4 } },
  });
  const harness = pollOf(neighbors);
  await vi.advanceTimersByTimeAsync(0);
  const labels = `peer="${TOR}:1179",vrf="default"`;
  expect(await metricLines("metallb_bgp_session_up")).toEqual([`metallb_bgp_session_up{${labels}} 1`]);
  expect(await metricLines("metallb_bgp_announced_prefixes_total")).toEqual([`metallb_bgp_announced_prefixes_total{${labels}} 7`]);
  expect(await metricLines("metallb_bgp_updates_total")).toEqual([`metallb_bgp_updates_total{${labels}} 12`]);
  expect(await metricLines("metallb_bfd_session_up")).toEqual([`metallb_bfd_session_up{peer="${TOR}",vrf="default"} 1`]);
  expect(await metricLines("metallb_bfd_session_down_events")).toEqual([`metallb_bfd_session_down_events{peer="${TOR}",vrf="default"} 2`]);
  await harness.say({}, { ms: 15_000 });
  expect(await metricLines("metallb_bgp_session_up")).toEqual([]);
  expect(await metricLines("metallb_bfd_session_up")).toEqual([]);
  await harness.stop();
});
