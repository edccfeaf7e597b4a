import * as fc from "fast-check";
import { expect, test } from "vitest";
import { parseAddress } from "../../../ip/address.ts";
import { DEVICE } from "./ip-address-commands.ts";
import { OwnedAddresses } from "./owned-addresses.ts";

const vip = parseAddress("192.0.2.100");
const NAMES = ["a", "b", "c"];
const LIFETIME_MS = 25_000;
const LEASE_MS = 3_000;
const END_MS = 90_000;

type Deed =
  | { readonly do: "seek"; readonly candidates: readonly string[] }
  | { readonly do: "resign" }
  | { readonly do: "freeze"; readonly ms: number }
  | { readonly do: "restart" };

interface Event {
  readonly at: number;
  readonly node: number;
  readonly deed: Deed;
}

/** Who answers on a node: its kernel, until the address expires, whether or not anybody looks after it; or a process that sleeps when the agent does. */
type AnsweredBy = "kernel" | "frames";

class SimulatedNode {
  readonly name: string;
  readonly nic: { readonly name: string; readonly index: number; readonly mac: string };
  addresses: OwnedAddresses;
  answersUntil = 0;
  frozenUntil = 0;
  readonly #answeredBy: AnsweredBy;
  #leaseUntil = 0;
  readonly #unread: ((now: number) => void)[] = [];

  constructor(name: string, number: number, answeredBy: AnsweredBy) {
    this.name = name;
    this.#answeredBy = answeredBy;
    this.nic = { name: "eth0", index: 2, mac: `02:00:00:00:00:0${number}` };
    this.addresses = new OwnedAddresses(name, () => answeredBy === "kernel");
  }

  answers(now: number): boolean {
    const isAwake = this.#answeredBy === "kernel" || (now < this.#leaseUntil && now >= this.frozenUntil);
    return isAwake && now < this.answersUntil;
  }

  /** What it is told while it is frozen it reads when it wakes. */
  tell(message: (now: number) => void): void {
    this.#unread.push(message);
  }

  tick(now: number, others: readonly SimulatedNode[]): void {
    if (now < this.frozenUntil) return;
    if (this.#answeredBy === "frames" && now >= this.#leaseUntil) {
      this.answersUntil = 0;
      this.addresses.unanswered(now);
    }
    this.#leaseUntil = now + LEASE_MS;
    for (const message of this.#unread.splice(0)) message(now);
    const { drop, refresh, add, probe, check, announce, listened } = this.addresses.step(now, () => true);
    if (drop.some(({ isLast }) => isLast)) this.answersUntil = 0;
    const owned = this.addresses.kept([...refresh, ...add], now);
    if (owned.some(({ nic }) => nic === this.nic || this.#answeredBy === "kernel")) this.answersUntil = now + LIFETIME_MS;
    for (const other of others) {
      if (announce.length > 0) other.tell((then) => other.addresses.claimed(vip, "eth0", this.nic.mac, undefined, then));
      if (probe.length + check.length === 0) continue;
      if (other.answers(now)) this.tell((then) => this.addresses.claimed(vip, "eth0", other.nic.mac, undefined, then));
      other.tell((then) => other.addresses.contended(vip, "eth0", this.nic.mac, undefined, then));
    }
    this.addresses.silent(listened, now);
  }

  suffer(deed: Deed, now: number): void {
    if (deed.do === "seek") this.addresses.want([{ address: vip, nics: [this.nic], candidates: deed.candidates }], now);
    else if (deed.do === "resign") this.addresses.want([], now);
    else if (deed.do === "freeze") this.frozenUntil = now + deed.ms;
    else this.#restart(now);
  }

  #restart(now: number): void {
    this.addresses = new OwnedAddresses(this.name, () => this.#answeredBy === "kernel");
    this.#unread.length = 0;
    const seconds = Math.floor((this.answersUntil - now) / 1_000);
    if (seconds > 0) this.addresses.adopt({ address: vip, nic: { name: DEVICE, index: 9, mac: "" } }, seconds, now);
    if (this.#answeredBy === "frames") this.answersUntil = 0;
  }
}

const deed: fc.Arbitrary<Deed> = fc.oneof(
  // Nodes need not agree on the order: they hear of changes at different times, or not at all.
  { weight: 4, arbitrary: fc.shuffledSubarray(NAMES, { minLength: 1 }).map((candidates) => ({ do: "seek", candidates }) as const) },
  { weight: 1, arbitrary: fc.constant({ do: "resign" } as const) },
  { weight: 3, arbitrary: fc.integer({ min: 100, max: 50_000 }).map((ms) => ({ do: "freeze", ms }) as const) },
  { weight: 1, arbitrary: fc.constant({ do: "restart" } as const) },
);
const events = fc.array(fc.record({ at: fc.integer({ min: 0, max: END_MS }), node: fc.nat(2), deed }), { minLength: 3, maxLength: 30 });

function run(
  answeredBy: AnsweredBy,
  history: readonly Event[],
  offsets: readonly number[],
  observe: (now: number, nodes: readonly SimulatedNode[]) => void,
): void {
  const nodes = NAMES.map((name, number) => new SimulatedNode(name, number, answeredBy));
  const pending = history.toSorted((a, b) => a.at - b.at);
  for (let now = 0; now < END_MS; now += 10) {
    for (; pending[0] && pending[0].at <= now; pending.shift()) nodes[pending[0].node]?.suffer(pending[0].deed, now);
    for (const [number, node] of nodes.entries())
      if (now % 100 === (offsets[number] ?? 0) * 10)
        node.tick(
          now,
          nodes.filter((one) => one !== node),
        );
    observe(now, nodes);
  }
}

/** Who sleeps longer than others listen and wakes before its lease has ended may answer until it hears of them. A machine that is paused always could. */
const isBlind = ({ deed }: Event) => deed.do === "freeze" && deed.ms > 800 && deed.ms < LEASE_MS + 100;

test.each<AnsweredBy>(["kernel", "frames"])(
  "for any election views, suspends and restarts no two nodes answer for an address (%s)",
  (answeredBy) => {
    fc.assert(
      fc.property(events, fc.tuple(fc.nat(9), fc.nat(9), fc.nat(9)), (history, offsets) => {
        const together = new Set<string>();
        const known = answeredBy === "kernel" ? history : history.filter((event) => !isBlind(event));
        run(answeredBy, known, offsets, (now, nodes) => {
          const answering = nodes.filter((node) => node.answers(now));
          if (answering.length > 1) together.add(`${answering.map(({ name }) => name).join(" and ")} at ${now} ms`);
        });
        expect([...together]).toEqual([]);
      }),
      { seed: 3, numRuns: 80 },
    );
  },
);

test.each<AnsweredBy>(["kernel", "frames"])("the only candidate that keeps running answers for its address (%s)", (answeredBy) => {
  fc.assert(
    fc.property(events, fc.tuple(fc.nat(9), fc.nat(9), fc.nat(9)), fc.nat(2), (history, offsets, winner) => {
      const name = NAMES[winner] ?? "a";
      const early = history.map((event) => ({
        ...event,
        at: event.at / 3,
        ...(event.deed.do === "freeze" && { deed: { do: "freeze", ms: event.deed.ms / 10 } as const }),
      }));
      const last = NAMES.map((_, node) => ({
        at: END_MS / 2,
        node,
        deed: node === winner ? ({ do: "seek", candidates: [name] } as const) : ({ do: "resign" } as const),
      }));
      let answering = "";
      run(answeredBy, [...early, ...last], offsets, (now, nodes) => (answering = nodes.find((node) => node.answers(now))?.name ?? ""));
      expect(answering).toBe(name);
    }),
    { seed: 3, numRuns: 80 },
  );
});
