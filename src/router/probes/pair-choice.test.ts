import { expect, test } from "vitest";
import { choosePairs, type FramePair, type PairChoice } from "./pair-choice.ts";
import { observe, type PairStates } from "./pairs.ts";
import type { LocalVni } from "./prober.ts";

const vnis = [110, 111].map((vni): LocalVni => ({ vni, type: "L2", bridge: `br-pe-${vni}`, vxlan: `vni${vni}`, devices: "", mtu: 1500 }));
const inputsOf = (count: number) => {
  const indexes = Array.from({ length: count }, (_, index) => index);
  return {
    index: 0,
    vnis,
    members: new Map(vnis.map(({ vni }) => [vni, indexes])),
    peers: new Map(indexes.slice(1).map((at) => [at, at])),
  };
};
const inputs = inputsOf(12);
const NONE: PairStates = new Map();
const has = ({ pairs }: PairChoice, { peer, where }: FramePair) => pairs.some((pair) => pair.peer === peer && pair.where === where);
const probed = (states: PairStates, { peer, where, size }: FramePair, at: number, answered: boolean) =>
  observe(states, [{ peer, where, size, at, answered }]);

const first = choosePairs(inputs, 0, undefined, NONE);
const second = choosePairs(inputs, 1, first, NONE);
const rotated = first.pairs.find((pair) => !has(second, pair));

test("three peers per VNI are probed, one of them for one turn", () => {
  expect(first.pairs).toHaveLength(6);
  expect(second.pairs).toHaveLength(6);
  expect(second.pairs.filter((pair) => !has(first, pair)).map(({ where }) => where)).toEqual([110, 111]);
});

test("pairs are chosen again when members change, and not when the same are read again", () => {
  expect(choosePairs(inputsOf(12), 0, first, NONE).due).toBe(first.due);
  expect(choosePairs(inputsOf(11), 0, first, NONE).due).not.toBe(first.due);
  const devices = vnis.map((vni) => Object.assign({}, vni, { devices: "7 8" }));
  expect(choosePairs({ ...inputs, vnis: devices }, 0, first, NONE).due[0]?.vni.devices).toBe("7 8");
});

test("a pair that lost its last probe is probed after its turn until it is answered", () => {
  if (!rotated) throw new Error("no pair rotates");
  const lost = probed(NONE, rotated, 1_000, false);
  const kept = choosePairs(inputs, 2, choosePairs(inputs, 1, first, lost), lost);
  expect(kept.pairs).toHaveLength(7);
  expect(has(kept, rotated)).toBe(true);
  expect(has(choosePairs(inputs, 2, kept, probed(lost, rotated, 2_000, true)), rotated)).toBe(false);
});

test("a pair is not probed any more when the node leaves the VNI", () => {
  if (!rotated) throw new Error("no pair rotates");
  const lost = probed(NONE, rotated, 1_000, false);
  const members = new Map([...inputs.members].map(([vni, indexes]) => [vni, indexes.filter((index) => index !== rotated.peer)]));
  expect(has(choosePairs({ ...inputs, members }, 1, first, lost), rotated)).toBe(false);
});

test("a few dozen pairs are kept at most", () => {
  const large = inputsOf(500);
  let choice: PairChoice | undefined;
  let states = NONE;
  for (let turn = 0; turn < 100; turn++) {
    choice = choosePairs(large, turn, choice, states);
    for (const pair of choice.pairs) states = probed(states, pair, turn, false);
  }
  expect(choice?.pairs).toHaveLength(6 + 64);
});
