import * as fc from "fast-check";
import { expect, test } from "vitest";
import { answeredTrainsSince, forgetTrains, lossOf, lossPercents, observeTrains, type Trains, trainSizes } from "./datagrams.ts";
import { observe, type PairId, type ProbeResult } from "./pairs.ts";
import type { LocalVni, Pair } from "./prober.ts";
import { isComplete, planTick, SLOTS } from "./tick.ts";

const vnis = [110, 111].map((vni): LocalVni => ({ vni, type: "L2", bridge: `br-pe-${vni}`, vxlan: `vni${vni}`, devices: "", mtu: 1500 }));
const PEERS = [2, 3, 4];
const pairs: (Pair & PairId)[] = vnis.flatMap((vni) => PEERS.map((peer) => ({ peer, where: vni.vni, vni, size: 64 })));
const probe = (peer: number, where: ProbeResult["where"], size: number, at: number, answered = false): ProbeResult => ({
  peer,
  where,
  size,
  at,
  answered,
});
const plan = (results: readonly ProbeResult[], slot: number, now: number) =>
  planTick({
    inputs: { vnis },
    pairs,
    vtepPeers: PEERS,
    states: observe(new Map(), results),
    trains: observeTrains(new Map(), results, now),
    slot,
    now,
  });

test("a new pair is probed at once", () => {
  const { frames, datagrams } = plan([], 0, 0);
  expect(frames).toHaveLength(pairs.length);
  expect(new Set(datagrams.map(({ peer }) => peer))).toEqual(new Set(PEERS));
});

const all = PEERS.flatMap((peer) => [
  ...vnis.map(({ vni }) => probe(peer, vni, 64, 0, true)),
  ...plan([], 0, 0).datagrams.flatMap((one) => (one.peer === peer ? probe(peer, "udp", one.size, 0, true) : [])),
]);

test("ten ticks probe each pair once and send each peer one train", () => {
  const ticks = Array.from({ length: SLOTS }, (_, slot) => plan(all, slot, 1_000));
  expect(ticks.flatMap(({ frames }) => frames)).toHaveLength(pairs.length);
  expect(ticks.flatMap(({ datagrams }) => datagrams)).toHaveLength(PEERS.length * (trainSizes(10).length + 1));
  expect(ticks.flatMap(({ pings }) => pings)).toEqual([]);
});

test("a lost probe is repeated with all others of its VNI and with trains to all peers; after a while alone", () => {
  const { frames, datagrams, pings } = plan([...all, probe(2, 110, 64, 1_000)], 0, 3_000);
  expect(
    frames
      .filter(({ where }) => where === 110)
      .map(({ peer }) => peer)
      .toSorted((a, b) => a - b),
  ).toEqual(PEERS);
  expect(new Set(datagrams.map(({ peer }) => peer))).toEqual(new Set(PEERS));
  expect(pings).toEqual([2]);
  const quiet = Array.from({ length: SLOTS }, (_, slot) => slot).find(
    (slot) => plan(all, slot, 0).frames.length === 0 && plan(all, slot, 0).datagrams.length === 0,
  );
  const later = plan([...all, probe(2, 110, 64, 1_000)], quiet ?? 0, 60_000);
  expect(later.frames).toHaveLength(1);
  expect(new Set(later.datagrams.map(({ peer }) => peer))).toEqual(new Set([2]));
});

test("nothing is probed twice in a tick", () => {
  const where = fc.oneof(
    fc.constantFrom(110, 111).map((vni) => [vni, 64] as const),
    fc.constantFrom(...trainSizes(10), 1522, 1472).map((size) => ["udp", size] as const),
    fc.constant(["ping", 8] as const),
  );
  const result = fc.record({ peer: fc.constantFrom(...PEERS), where, at: fc.nat(20_000), answered: fc.boolean() });
  fc.assert(
    fc.property(fc.array(result, { maxLength: 80 }), fc.nat(SLOTS - 1), (list, slot) => {
      const results = list
        .map(({ peer, where: [to, size], at, answered }) => ({ peer, where: to, size, at, answered }))
        .sort((a, b) => a.at - b.at);
      const { frames, datagrams, pings } = plan(results, slot, 21_000);
      for (const sent of [
        frames.map(({ peer, where: vni }) => `${peer} ${vni}`),
        datagrams.map(({ peer, size }) => `${peer} ${size}`),
        pings.map(String),
      ])
        expect(new Set(sent).size).toBe(sent.length);
    }),
  );
});

const answers = (at: number) => [3, 4].map((peer) => probe(peer, 110, 64, at, true));
const complete = (results: readonly ProbeResult[], now: number) =>
  isComplete({ peer: 2, where: 110, size: 64 }, 1_000, pairs, observe(new Map(), results), now);

test("a failing pair is complete when the others of its VNI have answered since, or after ten seconds", () => {
  const failing = [1_000, 2_000, 3_000].map((at) => probe(2, 110, 64, at));
  expect(complete([...answers(500), ...failing], 5_000)).toBe(false);
  expect(complete([...answers(500), ...failing], 11_000)).toBe(true);
  expect(complete([...failing, ...answers(3_000)], 5_000)).toBe(true);
});

const train = (peer: number, at: number, losses: number): ProbeResult[] =>
  trainSizes(10).map((size, number) => probe(peer, "udp", size, at, number >= losses));
const after = (...losses: number[]) =>
  losses.reduce((trains: Trains, count, number) => observeTrains(trains, train(2, number * 1_000, count), number * 1_000), new Map());

test("a path is lossy if two trains lost packets, and one in twenty in total", () => {
  expect(lossOf(after(0, 3, 2), 2)).toEqual({ lost: 5, sent: 30, since: 1_000 });
  expect(lossOf(after(0, 5, 0), 2)).toBeUndefined();
  expect(lossOf(after(0, 0, 0, 0, 1, 0, 0, 1), 2)).toBeUndefined();
});

test("trains without any answer are no loss", () => {
  expect(lossOf(after(0, 0, 5, 10, 10, 10), 2)).toBeUndefined();
  expect(lossOf(after(0, 0, 3, 10, 3), 2)).toEqual({ lost: 6, sent: 40, since: 2_000 });
});

test("the path is measured by the trains that have an answer", () => {
  expect(answeredTrainsSince(after(10, 10, 3, 10, 0), 2, 1_000)).toEqual({ lost: 3, sent: 20, from: 2_000 });
  expect(answeredTrainsSince(after(0, 10, 10), 2, 1_000)).toEqual({ lost: 0, sent: 0, from: undefined });
});

test("a path is measured since the first of the answered trains in a row, also when that one is no longer kept", () => {
  expect(answeredTrainsSince(after(10, ...Array<number>(40).fill(1)), 2, 30_000)).toEqual({ lost: 11, sent: 110, from: 1_000 });
});

test("a reported percentage stays until the loss changes", () => {
  const first = lossPercents(after(3, 3, 3), new Map());
  expect(first).toEqual(new Map([[2, 30]]));
  expect(lossPercents(after(4, 4, 4), first)).toEqual(first);
  expect(lossPercents(after(8, 8, 8), first)).toEqual(new Map([[2, 80]]));
  expect(lossPercents(after(0, 0, 0), first)).toEqual(new Map());
});

test("trains of another time are forgotten: a path that is measured again later has lost nothing yet", () => {
  const lossy = after(0, 3, 3);
  expect(lossOf(forgetTrains(lossy, 60_999), 2)).toEqual({ lost: 6, sent: 20, since: 1_000 });
  expect(forgetTrains(lossy, 62_000)).toEqual(new Map());
});
