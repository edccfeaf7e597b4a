import { answeredTrainsSince, observeTrains, type Trains } from "../src/router/probes/datagrams.ts";
import { judge, observe, type PairId, type PairStates, type ProbeResult, STALE_MS } from "../src/router/probes/pairs.ts";
import { peersOf, turnsForAllPairs } from "../src/router/probes/peers.ts";
import type { LocalVni, Pair } from "../src/router/probes/prober.ts";
import { isComplete, planTick, SLOTS, TICK_MS } from "../src/router/probes/tick.ts";
import { compare, defineBench, mustBeZero } from "./measure.ts";

/** As the prober waits for answers. */
const WAIT_TICKS = 2;
const TURN_SECONDS = 30;

export const bench = defineBench({
  full: { nodes: 500, vnis: 100, faults: 200 },
  tiny: { nodes: 20, vnis: 3, faults: 5 },
  run({ nodes, vnis: count, faults }, say) {
    const members = Array.from({ length: nodes }, (_, index) => index);
    const vnis = Array.from({ length: count }, (_, at): LocalVni => {
      const vni = 100 + at;
      return { vni, type: "L2", bridge: `br-pe-${vni}`, vxlan: `vni${vni}`, devices: "", mtu: 1450 };
    });
    const agent = (own: number, turn: number): Agent => ({
      vnis,
      pairs: vnis.flatMap((vni) => peersOf(own, members, vni.vni, turn).map((peer) => ({ peer, where: vni.vni, vni, size: 64 }))),
      vtepPeers: peersOf(own, members, 0, 0),
    });

    const packets = packetsAtRest(agent(0, 0));
    const all = 2 * (nodes - 1) * count;
    const found: number[] = [];
    let missed = 0;
    for (let fault = 0; fault < faults; fault++) {
      const own = Math.floor(Math.random() * nodes);
      const cut = vnis[Math.floor(Math.random() * count)]?.vni ?? 0;
      const seconds = secondsUntilFound(agent(own, fault), cut, Math.floor(Math.random() * SLOTS));
      if (seconds === undefined) missed += 1;
      else found.push(seconds);
    }
    found.sort((a, b) => a - b);
    say(
      `a VNI of a node that is cut off: found after ${found[found.length >> 1]} s (median), ${found.at(-1)} s at most, in ${faults} tries`,
    );
    say(`all pairs have been probed after ${Math.round((turnsForAllPairs(nodes) * TURN_SECONDS) / 60)} minutes`);
    const size = `${count} VNIs of ${nodes} nodes`;
    const packetsOf = {
      bench: "probes",
      what: `packets of one agent in an interval, ${size} (the peer: all pairs, all VNIs)`,
      unit: "packets",
    };
    const misses = {
      bench: "probes",
      what: `faults not found in three intervals, of ${faults}: a VNI of a node is cut off`,
      unit: "faults",
    };
    return Promise.resolve([compare({ ...packetsOf, goal: 50 }, [packets], [all]), mustBeZero(misses, [missed], [faults])]);
  },
});

interface Agent {
  readonly vnis: readonly LocalVni[];
  readonly pairs: readonly (Pair & PairId)[];
  readonly vtepPeers: readonly number[];
}

/** Each probe has an answer of its size. */
function packetsAtRest({ vnis, pairs, vtepPeers }: Agent): number {
  let probes = 0;
  for (let slot = 0; slot < SLOTS; slot++) {
    const plan = planTick({ inputs: { vnis }, pairs, vtepPeers, states: new Map(), trains: new Map(), slot, now: 0 });
    probes += plan.frames.length + plan.datagrams.length + plan.pings.length;
  }
  return 2 * probes;
}

/** Since the VNI was cut off at this node. What answers, answers before the prober stops waiting. */
function secondsUntilFound({ vnis, pairs, vtepPeers }: Agent, cut: number, from: number): number | undefined {
  let states: PairStates = observe(
    new Map(),
    pairs.map(({ peer, where, size }) => ({ peer, where, size, at: 0, answered: true })),
  );
  let trains: Trains = new Map();
  const underway: ProbeResult[][] = [];
  for (let tick = 1; tick * TICK_MS <= STALE_MS; tick++) {
    const now = tick * TICK_MS;
    const plan = planTick({ inputs: { vnis }, pairs, vtepPeers, states, trains, slot: (from + tick) % SLOTS, now });
    underway.push([
      ...plan.frames.map(({ peer, where }) => ({ peer, where, size: 64, at: now, answered: where !== cut })),
      ...plan.datagrams.map(({ peer, size }) => ({ peer, where: "udp" as const, size, at: now, answered: true })),
      ...plan.pings.map((peer) => ({ peer, where: "ping" as const, size: 8, at: now, answered: true })),
    ]);
    const results = underway.length > WAIT_TICKS ? (underway.shift() ?? []) : [];
    states = observe(states, results);
    trains = observeTrains(trains, results, now);
    const options = {
      now,
      wantedSince: () => 0,
      liveSince: () => 0,
      path: (peer: number, since: number) => answeredTrainsSince(trains, peer, since),
    };
    const isFound = pairs.some((pair) => {
      const verdict = pair.where === cut ? judge(states, pair, options) : undefined;
      return verdict?.state === "failing" && isComplete(pair, verdict.since, pairs, states, now);
    });
    if (isFound) return tick * (TICK_MS / 1000);
  }
  return undefined;
}
