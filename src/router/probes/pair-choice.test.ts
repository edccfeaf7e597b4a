import { expect, test } from "vitest";
import { choosePairs, type FramePair, type PairChoice } from "./pair-choice.ts";
import { observeTrains, type Trains, trainSizes } from "./datagrams.ts";
import { observe, type PairStates } from "./pairs.ts";
import { turnsForAllPairs } from "./peers.ts";
import type { LocalVni } from "./prober.ts";

const vnis = [110, 111].map((vni): LocalVni => ({ vni, type: "L2", bridge: `br-pe-${vni}`, vxlan: `vni${vni}`, devices: "", mtu: 1500 }));
const inputsOf = (count: number) => {
  const indexes = Array.from({ length: count }, (_, index) => index);
  return {
    index: 0,
    vnis,
    members: new Map(vnis.map(({ vni }) => [vni, indexes])),
    peers: new Map(indexes.slice(1).map((at) => [at, at])),
    lacking: new Map<number, number[]>(),
  };
};
const inputs = inputsOf(12);
const NONE: PairStates = new Map();
const choose = (from: typeof inputs, turn: number, before?: PairChoice, states = NONE, trains: Trains = new Map()) =>
  choosePairs(from, turn, before, { states, trains });
const has = ({ pairs }: PairChoice, { peer, where }: FramePair) => pairs.some((pair) => pair.peer === peer && pair.where === where);
const probed = (states: PairStates, { peer, where, size }: FramePair, at: number, answered: boolean) =>
  observe(states, [{ peer, where, size, at, answered }]);

const first = choose(inputs, 0);
const second = choose(inputs, 1, first);
const rotated = first.pairs.find((pair) => !has(second, pair));

test("three peers per VNI are probed, one of them for one turn", () => {
  expect(first.pairs).toHaveLength(6);
  expect(second.pairs).toHaveLength(6);
  expect(second.pairs.filter((pair) => !has(first, pair)).map(({ where }) => where)).toEqual([110, 111]);
});

test("pairs are chosen again when members change, and not when the same are read again", () => {
  expect(choose(inputsOf(12), 0, first).due).toBe(first.due);
  expect(choose(inputsOf(11), 0, first).due).not.toBe(first.due);
  const devices = vnis.map((vni) => Object.assign({}, vni, { devices: "7 8" }));
  expect(choose({ ...inputs, vnis: devices }, 0, first).due[0]?.vni.devices).toBe("7 8");
});

test("a pair that lost its last probe is probed after its turn until it is answered", () => {
  if (!rotated) throw new Error("no pair rotates");
  const lost = probed(NONE, rotated, 1_000, false);
  const kept = choose(inputs, 2, choose(inputs, 1, first, lost), lost);
  expect(kept.pairs).toHaveLength(7);
  expect(has(kept, rotated)).toBe(true);
  expect(has(choose(inputs, 2, kept, probed(lost, rotated, 2_000, true)), rotated)).toBe(false);
});

test("a pair is probed after its turn while the router MAC of the peer is missing", () => {
  if (!rotated) throw new Error("no pair rotates");
  const l3 = vnis.map((vni) => Object.assign({}, vni, { type: "L3" as const }));
  const lacking = new Map([[rotated.where, [rotated.peer]]]);
  const later = (from: typeof inputs) => choose(from, 2, choose(from, 1, first));
  expect(has(later({ ...inputs, vnis: l3, lacking }), rotated)).toBe(true);
  expect(has(later({ ...inputs, vnis: l3 }), rotated)).toBe(false);
  expect(has(later({ ...inputs, lacking }), rotated)).toBe(false);
});

test("a pair is not probed any more when the node leaves the VNI", () => {
  if (!rotated) throw new Error("no pair rotates");
  const lost = probed(NONE, rotated, 1_000, false);
  const members = new Map([...inputs.members].map(([vni, indexes]) => [vni, indexes.filter((index) => index !== rotated.peer)]));
  expect(has(choose({ ...inputs, members }, 1, first, lost), rotated)).toBe(false);
});

test("a few dozen pairs are kept at most", () => {
  const large = inputsOf(500);
  let choice: PairChoice | undefined;
  let states = NONE;
  for (let turn = 0; turn < 100; turn++) {
    choice = choose(large, turn, choice, states);
    for (const pair of choice.pairs) states = probed(states, pair, turn, false);
  }
  expect(choice?.pairs).toHaveLength(6 + 64);
});

const others = (count: number) => Array.from({ length: count - 1 }, (_, at) => at + 1);

test("datagrams go to three nodes, and to all of them in the course of the turns", () => {
  const vteps = Array.from({ length: turnsForAllPairs(12) }, (_, turn) => choose(inputs, turn).vteps);
  for (const peers of vteps) expect(peers).toHaveLength(3);
  expect([...new Set(vteps.flat())].toSorted((a, b) => a - b)).toEqual(others(12));
});

test("up to eight other nodes all get datagrams in every turn", () => {
  expect(choose(inputsOf(8), 0).vteps).toEqual(others(8));
  expect(choose(inputsOf(8), 5).vteps).toEqual(others(8));
});

const [, , rotating = NaN] = first.vteps;
const REQUIRED = 1_522;

test("a node to which full datagrams do not pass gets them after its turn until they do", () => {
  const large = { peer: rotating, where: "udp", size: REQUIRED } as const;
  const lost = observe(NONE, [{ ...large, at: 1_000, answered: false }]);
  const kept = choose(inputs, 2, choose(inputs, 1, first, lost), lost);
  expect(second.vteps).not.toContain(rotating);
  expect(kept.vteps).toEqual([...choose(inputs, 2).vteps, rotating]);
  const passed = observe(lost, [{ ...large, at: 2_000, answered: true }]);
  expect(choose(inputs, 2, kept, passed).vteps).not.toContain(rotating);
});

test("a node to which the path loses packets is measured after its turn until it loses none", () => {
  const train = (at: number, losses: number) =>
    trainSizes(10).map((size, number) => ({ peer: rotating, where: "udp" as const, size, at, answered: number >= losses }));
  const lossy = observeTrains(observeTrains(new Map(), train(1_000, 3), 1_000), train(2_000, 2), 2_000);
  const kept = choose(inputs, 1, first, NONE, lossy);
  expect(kept.vteps).toEqual([...second.vteps, rotating]);
  const clean = observeTrains(new Map(), train(3_000, 0), 3_000);
  expect(choose(inputs, 1, kept, NONE, clean).vteps).toEqual(second.vteps);
});

test("sixteen nodes with lossy paths are kept at most, and the first of them stay", () => {
  const large = inputsOf(500);
  let choice: PairChoice | undefined;
  let states = NONE;
  const kept: (readonly number[])[] = [];
  for (let turn = 0; turn < 60; turn++) {
    choice = choose(large, turn, choice, states);
    for (const peer of choice.vteps) states = observe(states, [{ peer, where: "udp", size: REQUIRED, at: turn, answered: false }]);
    kept.push(choice.vteps.slice(choice.dueVteps.length));
  }
  expect(kept.at(-1)).toHaveLength(16);
  expect(kept.at(-1)).toEqual(kept.at(-20));
});
