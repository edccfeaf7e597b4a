import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { BgpNeighbor } from "../../../frr/neighbors.ts";
import { SentPrefixes } from "./sent-prefixes.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const { signal } = new AbortController();
const KEY = "default 192.0.2.1";

const neighbor = (more: Partial<BgpNeighbor> = {}): BgpNeighbor => ({
  vrf: "default",
  neighbor: "192.0.2.1",
  state: "Established",
  sentPrefixes: 0,
  receivedPrefixes: 0,
  messages: {} as BgpNeighbor["messages"],
  ...more,
});

/** A session of an FRR whose adj-rib-out is what the test has put there, polled every second. */
function harness(readMs = 0) {
  const lines: string[] = [];
  const rib = new Set<string>();
  const run = async (line: string) => {
    lines.push(line);
    if (readMs > 0) await vi.advanceTimersByTimeAsync(readMs);
    const family = [...rib].filter((prefix) => prefix.includes(":") === line.includes("ipv6"));
    return {
      status: 0,
      text: JSON.stringify({ advertisedRoutes: Object.fromEntries(family.map((prefix) => [prefix, {}])), totalPrefixCounter: 0 }),
    };
  };
  const sent = new SentPrefixes({ vty: () => Promise.resolve({ run }) });
  return {
    rib,
    lines,
    want: (...prefixes: string[]) => {
      const of = (isSix: boolean) => prefixes.filter((prefix) => prefix.includes(":") === isSix);
      sent.want(new Map([[KEY, { IPv4: of(false), IPv6: of(true) }]]));
    },
    read: async (more: Partial<BgpNeighbor> = {}) => (await sent.read([neighbor({ sentPrefixes: rib.size, ...more })], signal)).get(KEY),
    async seconds(count: number) {
      let last;
      for (let nth = 0; nth < count; nth++) {
        await vi.advanceTimersByTimeAsync(1_000);
        last = await this.read();
      }
      return last;
    },
  };
}

test("the sent prefixes are read once per address family, and again only after a change", async () => {
  const session = harness();
  const { rib, lines, want, read } = session;
  want("10.0.0.1/32", "2001:db8::1/128");
  for (const prefix of ["10.0.0.1/32", "2001:db8::1/128"]) rib.add(prefix);
  expect(await read()).toEqual([
    { family: "IPv4", wanted: 1, sent: 1 },
    { family: "IPv6", wanted: 1, sent: 1 },
  ]);
  expect(lines).toEqual([
    "show bgp vrf default ipv4 unicast neighbors 192.0.2.1 advertised-routes json",
    "show bgp vrf default ipv6 unicast neighbors 192.0.2.1 advertised-routes json",
  ]);
  await session.seconds(600);
  expect(lines).toHaveLength(2);
  rib.add("10.0.0.2/32");
  want("10.0.0.1/32", "10.0.0.2/32");
  expect(await read()).toEqual([{ family: "IPv4", wanted: 2, sent: 2 }]);
  expect(lines).toHaveLength(3);
});

test("a prefix is reported as missing only if it is not sent for a while, and no longer when it is sent", async () => {
  const session = harness();
  session.want("10.0.0.1/32", "10.0.0.2/32");
  session.rib.add("10.0.0.1/32");
  expect(await session.read()).toEqual([{ family: "IPv4", wanted: 1, sent: 1 }]);
  expect(await session.seconds(5)).toEqual([{ family: "IPv4", wanted: 2, sent: 1, missing: ["10.0.0.2/32"] }]);
  // The counter of FRR already has what waits to be sent.
  session.rib.add("10.0.0.2/32");
  expect(await session.seconds(60)).toEqual([{ family: "IPv4", wanted: 2, sent: 2 }]);
});

test("a session that is down or was not read yet reports nothing", async () => {
  const session = harness();
  session.want("10.0.0.1/32");
  expect(await session.read()).toBeUndefined();
  expect(await session.read({ state: "Active" })).toBeUndefined();
  expect(session.lines).toHaveLength(1);
});

test("a prefix that is missing for an hour is read about every minute", async () => {
  const session = harness();
  session.want("10.0.0.1/32");
  await session.seconds(3_600);
  expect(session.lines.length).toBeGreaterThan(50);
  expect(session.lines.length).toBeLessThan(150);
});

test("slow reads leave FRR idle most of the time, however often something changes", async () => {
  const session = harness(500);
  const begun = performance.now();
  for (let nth = 0; nth < 300; nth++) {
    session.rib.add(`10.0.0.${nth % 250}/32`);
    session.want(...session.rib);
    await session.seconds(1);
  }
  expect((session.lines.length * 500) / (performance.now() - begun)).toBeLessThan(0.06);
});

test("a re-established session is read again", async () => {
  const session = harness();
  session.want("10.0.0.1/32");
  session.rib.add("10.0.0.1/32");
  await session.read();
  await session.read({ state: "Idle" });
  expect(await session.read()).toEqual([{ family: "IPv4", wanted: 1, sent: 1 }]);
  expect(session.lines).toHaveLength(2);
});
