import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { SessionPoller } from "./sessions.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** As FRR 8.4 reports it. */
const LOST = {
  bgpState: "Idle",
  lastResetDueTo: "BGP Notification send",
  lastErrorCodeSubcode: "0500",
  lastNotificationReason: "Neighbor Events Error/Unspecific",
};
const UP = { bgpState: "Established", bgpTimerUpMsec: 1_000, connectionsEstablished: 1 };
const CONNECTING = { ...LOST, bgpState: "Connect" };
const REJECTED = { ...LOST, lastErrorCodeSubcode: "0202", lastNotificationReason: "OPEN Message Error/Bad Peer AS" };

/** The VRFs that a speaker creates again, in the order of its passes. */
function speakerOf(first: object) {
  let answer = first;
  const created: string[][] = [];
  const poller = new SessionPoller({
    router: {
      vty: () => Promise.resolve({ run: () => Promise.resolve({ status: 0, text: JSON.stringify(answer) }) }),
      identity: () => Promise.resolve("1"),
    },
    onChange: () => undefined,
    onRestart: () => created.push([...poller.takeLostVrfs()]),
  });
  const stop = new AbortController();
  const ended = poller.run(stop.signal);
  return {
    poller,
    created,
    async say(next: object, seconds: number) {
      answer = next;
      await vi.advanceTimersByTimeAsync(seconds * 1_000);
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await vi.advanceTimersByTimeAsync(2_000);
      await ended;
    },
  };
}

test("a VRF whose interface bgpd has lost is created again, and less and less often while that does not help", async () => {
  const green = { green: { "10.255.0.2": LOST } };
  await using speaker = speakerOf(green);
  await speaker.say(green, 4);
  expect(speaker.created).toEqual([]);
  await speaker.say(green, 3);
  expect(speaker.created).toEqual([["green"]]);
  await speaker.say(green, 3_600);
  expect(new Set(speaker.created.flat())).toEqual(new Set(["green"]));
  expect(speaker.created.length).toBeGreaterThan(4);
  expect(speaker.created.length).toBeLessThan(20);
});

test("says in the session's reason what bgpd lacks", async () => {
  const green = { green: { "10.255.0.2": LOST } };
  await using speaker = speakerOf(green);
  await speaker.say(green, 2);
  expect(speaker.poller.sessions?.map(({ lastResetReason }) => lastResetReason)).toEqual([
    "BGP Notification send: Neighbor Events Error/Unspecific (bgpd knows no interface with the session's local address)",
  ]);
});

test.each([
  ["another session of the VRF is up", { green: { "10.255.0.2": LOST, "10.255.1.2": UP } }],
  ["the session connects", { green: { "10.255.0.2": CONNECTING } }],
  ["the session was rejected for another reason", { green: { "10.255.0.2": REJECTED } }],
])("nothing is created again while %s", async (_, neighbors) => {
  await using speaker = speakerOf(neighbors);
  await speaker.say(neighbors, 600);
  expect(speaker.created).toEqual([]);
});

test("a link that is known again within seconds costs nothing, and one VRF does not affect another", async () => {
  const both = { green: { "10.255.0.2": LOST }, blue: { "10.255.0.2": UP } };
  await using speaker = speakerOf(both);
  await speaker.say(both, 3);
  await speaker.say({ ...both, green: { "10.255.0.2": CONNECTING } }, 3);
  await speaker.say(both, 3);
  await speaker.say({ ...both, green: { "10.255.0.2": UP } }, 60);
  expect(speaker.created).toEqual([]);
  await speaker.say(both, 8);
  expect(speaker.created).toEqual([["green"]]);
});
