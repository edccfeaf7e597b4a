import { expect, test } from "vitest";
import { absentVteps, lackingRoutes } from "./absent-vteps.ts";
import type { LocalVni, ProbePeer } from "./probes/prober.ts";

const SAME = 7;
const vni = (number: number, type: "L2" | "L3"): LocalVni => ({
  ...(type === "L3" && { imports: SAME }),
  vni: number,
  type,
  bridge: `br-pe-${number}`,
  vxlan: `vni${number}`,
  devices: "",
  mtu: 1450,
});
const peer = (number: number, isLive = true): [number, ProbePeer] => [
  number,
  { node: `node${number}`, vtep: `100.65.0.${number}`, key: Buffer.alloc(32), isLive },
];
const inputs = {
  index: 1,
  vnis: [vni(110, "L2"), vni(111, "L2"), vni(200, "L3")],
  members: new Map([
    [110, [1, 2, 3, 4]],
    [111, [1, 2]],
    [200, [1, 2]],
  ]),
  peers: new Map([peer(2), peer(3), peer(4, false)]),
  isConnected: true,
  exportsOf: (): number | undefined => undefined,
  routerMac: (): string | undefined => undefined,
};
const afterRounds = (rounds: number, vteps: ReadonlyMap<number, readonly string[]>, more: Partial<typeof inputs> = {}) => {
  let absent: ReturnType<typeof absentVteps> = new Map();
  for (let round = 0; round < rounds; round++) absent = absentVteps({ ...inputs, ...more }, vteps, absent);
  return absent;
};

test("the VTEP of a live node that FRR lacks three times in a row is reported as missing, in all its VNIs", () => {
  const vteps = new Map([[110, ["100.65.0.3"]]]);
  expect(lackingRoutes(afterRounds(2, vteps))).toEqual(new Map());
  expect(lackingRoutes(afterRounds(3, vteps))).toEqual(
    new Map([
      [110, [2]],
      [111, [2]],
    ]),
  );
});

test("an observation soon after another, because a link changed, does not count", () => {
  const twice = afterRounds(2, new Map());
  expect(absentVteps(inputs, new Map(), twice, 0)).toEqual(twice);
});

test("nothing is counted without a BGP session, and the count restarts when it is up again", () => {
  expect(absentVteps({ ...inputs, isConnected: false }, new Map(), afterRounds(3, new Map()))).toEqual(new Map());
});

test("a VTEP that was present in between restarts the count", () => {
  const without = afterRounds(2, new Map());
  const all = new Map([110, 111].map((number) => [number, ["100.65.0.2", "100.65.0.3"]] as const));
  expect(absentVteps(inputs, all, without)).toEqual(new Map());
});

test("every VTEP of 500 nodes with 1000 VNIs may be missing", () => {
  const vnis = Array.from({ length: 1_000 }, (_, at) => 1_000 + at);
  const indexes = Array.from({ length: 500 }, (_, index) => index);
  const absent = new Map(vnis.flatMap((number) => indexes.map((index) => [`${index} ${number}`, 3] as const)));
  expect(lackingRoutes(absent)).toEqual(new Map(vnis.map((number) => [number, indexes])));
});

const complete = new Map([110, 111].map((number) => [number, ["100.65.0.2", "100.65.0.3"]] as const));

test("the router MAC of a node that announces prefixes is reported as missing in an L3VNI", () => {
  expect(lackingRoutes(afterRounds(5, complete, { exportsOf: () => SAME }))).toEqual(new Map());
  expect(lackingRoutes(afterRounds(6, complete, { exportsOf: () => SAME }))).toEqual(new Map([[200, [2]]]));
  expect(lackingRoutes(afterRounds(6, complete, { exportsOf: () => SAME, routerMac: () => "02:00:00:00:00:02" }))).toEqual(new Map());
});

test("no router MAC is expected of a node that announces no prefix, or not with route targets that this node imports", () => {
  expect(lackingRoutes(afterRounds(6, complete))).toEqual(new Map());
  expect(lackingRoutes(afterRounds(6, complete, { exportsOf: () => SAME + 1 }))).toEqual(new Map());
  const vnis = inputs.vnis.map(({ imports: _, ...one }) => one);
  expect(lackingRoutes(afterRounds(6, complete, { exportsOf: () => SAME, vnis }))).toEqual(new Map());
});
