import { answeredTrainsSince, forgetTrains, observeTrains, requiredSize, type Trains, vtepPairs } from "../src/router/probes/datagrams.ts";
import { choosePairs, type PairChoice } from "../src/router/probes/pair-choice.ts";
import {
  forgetLosses,
  judge,
  keyOf,
  observe,
  type PairId,
  type PairStates,
  type ProbeResult,
  retain,
  STALE_MS,
} from "../src/router/probes/pairs.ts";
import { peersOf, turnsForAllPairs } from "../src/router/probes/peers.ts";
import type { LocalVni } from "../src/router/probes/prober.ts";
import { printMembers } from "../src/kube/members/members.ts";
import { parseOverlayMap, printOverlayMap } from "../src/router/probes/overlay-map.ts";
import { isComplete, planTick, SLOTS, TICK_MS } from "../src/router/probes/tick.ts";
import { compare, defineBench, type Measure, median, mustBeZero } from "./measure.ts";

/** As the prober waits for answers. */
const WAIT_TICKS = 2;
const TURN_SECONDS = 30;

export const bench = defineBench({
  full: { nodes: 500, vnis: 100, faults: 200, far: 10 },
  tiny: { nodes: 20, vnis: 3, faults: 5, far: 2 },
  run({ nodes, vnis: count, faults, far }, say) {
    const members = Array.from({ length: nodes }, (_, index) => index);
    const vnis = Array.from({ length: count }, (_, at): LocalVni => {
      const vni = 100 + at;
      return { vni, type: "L2", bridge: `br-pe-${vni}`, vxlan: `vni${vni}`, devices: "", mtu: 1450 };
    });
    const large = requiredSize({ vnis });

    const packets = new Agent(0, members, vnis, 0).packetsAtRest();
    const all = 2 * (nodes - 1) * count;
    const limit = STALE_MS / TICK_MS;
    const cutVnis = times(faults, () => {
      const cut = vnis[anyOf(count)]?.vni;
      const agent = new Agent(anyOf(nodes), members, vnis, anyOf(nodes));
      return agent.secondsUntil(({ where }) => where === cut, limit);
    });
    // Each node is followed in the ring by one that it probes in every turn.
    const cutNodes = times(faults, () => {
      const [own, turn] = [anyOf(nodes), anyOf(nodes)];
      const [cut] = peersOf(own, members, 0, turn);
      return new Agent(own, members, vnis, turn).secondsUntil(({ peer }) => peer === cut, limit);
    });
    const allTurns = turnsForAllPairs(nodes) * TURN_SECONDS;
    const farPairs = times(far, () => {
      const own = anyOf(nodes);
      const narrow = members[(own + 1 + anyOf(nodes - 1)) % nodes];
      const agent = new Agent(own, members, vnis.slice(0, 1), anyOf(nodes));
      return agent.secondsUntil(({ peer, where, size }) => peer === narrow && where === "udp" && size >= large, allTurns + limit);
    });
    const describe = (what: string, { found, tries }: Times) =>
      say(`${what}: found after ${found[found.length >> 1]} s (median), ${found.at(-1)} s at most, in ${tries} tries`);
    describe("a VNI of a node that is cut off", cutVnis);
    describe("a node that is cut off, by one that always probes it", cutNodes);
    describe("full packets that do not pass between two nodes", farPairs);
    say(`all pairs have been probed after ${Math.round(allTurns / 60)} minutes`);
    const size = `${count} VNIs of ${nodes} nodes`;
    const packetsOf = {
      bench: "probes",
      what: `packets of one agent in an interval, ${size} (the peer: all pairs, all VNIs)`,
      unit: "packets",
    };
    const same = publishedMap(nodes, () => vnis.map(({ vni }) => vni));
    const mixed = publishedMap(nodes, () => vnis.flatMap(({ vni }) => (Math.random() < 0.5 ? [vni] : [])));
    say(`published for ${size}: ${same.bytes} bytes of ${same.whole} bytes that agents watch, read in ${same.readMs} ms`);
    say(`the same where each node has another half of the VNIs: ${mixed.bytes} bytes of ${mixed.whole}, read in ${mixed.readMs} ms`);
    return Promise.resolve([
      compare({ ...packetsOf, goal: 50 }, [packets], [all]),
      misses(`in three intervals, of ${faults}: a VNI of a node is cut off`, cutVnis),
      misses(`in three intervals, of ${faults}: a node is cut off`, cutNodes),
      misses(`until all pairs have been probed, of ${far}: full packets do not pass between two nodes`, farPairs),
      bytesOf(size, same, 5),
      bytesOf(`${size}, each node with another half of them`, mixed, 0.8),
    ]);
  },
});

function anyOf(count: number): number {
  return Math.floor(Math.random() * count);
}

function vtepOf(index: number): string {
  return `100.65.${index >> 8}.${index & 255}`;
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function misses(what: string, { found, tries }: Times): Measure {
  return mustBeZero({ bench: "probes", what: `faults not found ${what}`, unit: "faults" }, [tries - found.length], [tries]);
}

function bytesOf(what: string, { bytes, naive }: Published, goal: number): Measure {
  const about = { bench: "probes", what: `bytes published, ${what} (the peer: a list of VNIs for each node)`, unit: "bytes", goal };
  return compare(about, [bytes], [naive]);
}

interface Published {
  readonly bytes: number;
  /** With all else in the object: members, keys and indexes. */
  readonly whole: number;
  readonly naive: number;
  readonly readMs: number;
}

/** What the controller writes about the VNIs of the nodes, and each agent reads again after every write. */
function publishedMap(count: number, vnisOf: () => readonly number[]): Published {
  const names = Array.from({ length: count }, (_, index) => `worker-${index}.rack-${index % 20}.example.com`);
  const nodes = new Map(names.map((name, index) => [name, { index, vtep: vtepOf(index), l2: vnisOf(), l3: [] }]));
  const map = printOverlayMap({ nodes });
  const members = printMembers({
    live: names,
    keys: Object.fromEntries(names.map((name) => [name, Buffer.alloc(32, name).toString("base64")])),
    indexes: Object.fromEntries(names.map((name, index) => [name, { index }])),
    freed: [],
  });
  const object = { metadata: { name: "plumbline-members" }, data: { ...members, ...map } };
  const times = Array.from({ length: 20 }, () => {
    const started = performance.now();
    parseOverlayMap(object);
    return performance.now() - started;
  });
  return {
    bytes: sizeOf(map),
    whole: sizeOf(object),
    naive: sizeOf(JSON.stringify(Object.fromEntries(nodes))),
    readMs: Math.round(median(times) * 10) / 10,
  };
}

interface Times {
  /** Seconds, the shortest first. */
  readonly found: readonly number[];
  readonly tries: number;
}

function times(tries: number, secondsOf: () => number | undefined): Times {
  const found = Array.from({ length: tries }, secondsOf).flatMap((seconds) => seconds ?? []);
  return { found: found.toSorted((a, b) => a - b), tries };
}

/** What the prober of one node does, without sending anything. */
class Agent {
  readonly vnis: readonly LocalVni[];
  #choice: PairChoice;
  readonly #inputs: Parameters<typeof choosePairs>[0];
  readonly #firstTurn: number;
  #states: PairStates = new Map();
  #trains: Trains = new Map();

  constructor(own: number, members: readonly number[], vnis: readonly LocalVni[], turn: number) {
    this.vnis = vnis;
    this.#firstTurn = turn;
    const peers = new Map(members.filter((index) => index !== own).map((index) => [index, undefined]));
    this.#inputs = { index: own, vnis, peers, members: new Map(vnis.map(({ vni }) => [vni, members])), lacking: new Map() };
    this.#choice = choosePairs(this.#inputs, turn, undefined, { states: this.#states, trains: this.#trains });
    this.#observe(
      this.#pairs.map((pair) => ({ peer: pair.peer, where: pair.where, size: pair.size, at: 0, answered: true })),
      0,
    );
  }

  /** Of one interval. Each probe has an answer of its size. */
  packetsAtRest(): number {
    return 2 * Array.from({ length: SLOTS }, (_, slot) => this.#probe(slot, 0).length).reduce((sum, count) => sum + count, 0);
  }

  /** Until a pair is reported whose probes are lost. What answers, answers before the prober stops waiting. */
  secondsUntil(isLost: (pair: PairId) => boolean, limit: number): number | undefined {
    const underway: ProbeResult[][] = [];
    const from = Math.floor(Math.random() * SLOTS);
    for (let tick = 1; tick <= limit; tick++) {
      const now = tick * TICK_MS;
      if (tick % SLOTS === 0) this.#nextTurn(this.#firstTurn + Math.floor(tick / TURN_SECONDS), now);
      underway.push(this.#probe((from + tick) % SLOTS, now).map((pair) => Object.assign(pair, { at: now, answered: !isLost(pair) })));
      this.#observe(underway.length > WAIT_TICKS ? (underway.shift() ?? []) : [], now);
      if (this.#reports(isLost, now)) return tick * (TICK_MS / 1000);
    }
    return undefined;
  }

  get #pairs(): PairId[] {
    const required = requiredSize(this);
    return [...this.#choice.pairs, ...this.#choice.vteps.flatMap((peer) => vtepPairs(peer, required))];
  }

  #nextTurn(turn: number, now: number): void {
    const before = this.#choice.vteps;
    this.#choice = choosePairs(this.#inputs, turn, this.#choice, { states: this.#states, trains: this.#trains });
    this.#states = forgetLosses(
      this.#states,
      this.#choice.vteps.filter((peer) => !before.includes(peer)),
      now,
    );
    this.#states = retain(this.#states, new Set(this.#pairs.map(keyOf)), now);
    this.#trains = forgetTrains(this.#trains, now);
  }

  #probe(slot: number, now: number): PairId[] {
    const { pairs, vteps } = this.#choice;
    const plan = planTick({ inputs: this, pairs, vtepPeers: vteps, states: this.#states, trains: this.#trains, slot, now });
    return [
      ...plan.frames.map(({ peer, where }) => ({ peer, where, size: 64 })),
      ...plan.datagrams.map(({ peer, size }) => ({ peer, where: "udp" as const, size })),
      ...plan.pings.map((peer) => ({ peer, where: "ping" as const, size: 8 })),
    ];
  }

  #observe(results: readonly ProbeResult[], now: number): void {
    this.#states = observe(this.#states, results);
    this.#trains = observeTrains(this.#trains, results, now);
  }

  #reports(isLost: (pair: PairId) => boolean, now: number): boolean {
    const path = (peer: number, since: number) => answeredTrainsSince(this.#trains, peer, since);
    const pairs = this.#pairs;
    return pairs.some((pair) => {
      if (!isLost(pair)) return false;
      const verdict = judge(this.#states, pair, { now, wantedSince: () => 0, liveSince: () => 0, path });
      return verdict.state === "failing" && isComplete(pair, verdict.since, pairs, this.#states, now);
    });
  }
}
