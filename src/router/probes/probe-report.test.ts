import { expect, test } from "vitest";
import { observe, type ProbeResult } from "./pairs.ts";
import { probeReport } from "./probe-report.ts";

const SECOND = 1_000;
const size = 64;
const frame = { peer: 2, where: 110, size } as const;
const datagram = { peer: 2, where: "udp", size: 100 } as const;
const answered = (seconds: number): ProbeResult => ({ ...frame, at: seconds * SECOND, answered: true });
const lost = (seconds: number): ProbeResult => ({ ...datagram, at: seconds * SECOND, answered: false });

/** Frames are answered; datagrams are lost from the first second on. */
const unobservedAt = (seconds: number, liveSince: ReadonlyMap<number, number>) => {
  const results = Array.from({ length: seconds }, (_, at) => [answered(at), lost(at)]).flat();
  return probeReport({
    inputs: {
      index: 1,
      vtep: "100.65.0.1",
      vnis: [],
      peers: new Map([[2, { node: "node2", vtep: "100.65.0.2", key: Buffer.alloc(32), isLive: liveSince.has(2) }]]),
      members: new Map(),
      lacking: new Map(),
      exports: new Map(),
      routerMac: () => undefined,
    },
    pairs: [frame, datagram],
    vtepPeers: [2],
    states: observe(new Map(), results),
    trains: new Map(),
    loss: new Map(),
    wanted: new Map(),
    liveSince,
    now: seconds * SECOND,
  }).unobserved;
};

test("a node is not observed if some of its paths are unknown for a minute while its agent is alive", () => {
  const live = new Map([[2, 0]]);
  expect(unobservedAt(60, live)).toEqual([]);
  expect(unobservedAt(61, live)).toEqual(["node2"]);
});

test("an agent that restarts, or is gone, is no node that is not observed", () => {
  expect(unobservedAt(100, new Map([[2, 50 * SECOND]]))).toEqual([]);
  expect(unobservedAt(100, new Map())).toEqual([]);
});
