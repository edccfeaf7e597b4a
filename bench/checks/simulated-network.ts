import type { Action, Attempt } from "../../src/connectivity/history/attempt.ts";
import type { Target } from "../../src/connectivity/probe/target.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** The parts of the checks that try the same target, that an incident hits, and that fail every few minutes all day. */
const SHARED = { first: 0.2, part: 0.02, target: "10.200.0.1:443" };
const INCIDENT = { first: 0.4, part: 0.1 };
const RESTLESS = { first: 0.6, part: 0.001 };

interface WorldOptions {
  /** Breakages are counted from here. */
  readonly start: number;
  readonly checks: number;
  readonly hours: number;
}

interface Breakage {
  readonly from: number;
  readonly to: number;
  readonly why: string;
}

/** Who is reached when: one check in five fails for a moment once or twice, one target is down for a while, and one incident hits a tenth. */
export class World {
  readonly #random: () => number;
  readonly #checks: number;
  readonly #broken = new Map<string, Breakage[]>();

  constructor({ start, checks, hours }: WorldOptions, random: () => number) {
    this.#random = random;
    this.#checks = checks;
    for (let flaps = 0; flaps < checks / 5; flaps++) {
      const from = random() * hours * HOUR;
      this.#break(this.targetOf(Math.floor(random() * checks)), start + from, (0.5 + 2 * random()) * MINUTE, "Connection timed out");
    }
    const down = start + 0.2 * hours * HOUR;
    this.#break(SHARED.target, down, 10 * MINUTE, "Connection refused");
    this.#break(SHARED.target, down + 10 * MINUTE, 35 * MINUTE, "Connection timed out");
    for (let n = 0; n < INCIDENT.part * checks; n++)
      this.#break(this.targetOf(INCIDENT.first * checks + n), start + 0.6 * hours * HOUR, 12 * MINUTE, "No route to host");
    for (let n = 0; n < RESTLESS.part * checks; n++) {
      for (let at = 0; at < hours * HOUR; at += 5 * MINUTE)
        this.#break(this.targetOf(RESTLESS.first * checks + n), start + at, 1.5 * MINUTE, "Connection refused");
    }
  }

  async attempt({ host, text, address }: Target, seq: number): Promise<Attempt> {
    const at = Date.now();
    const why = this.#broken.get(text)?.find(({ from, to }) => from <= at && at < to)?.why;
    const latencyMs = why === "Connection timed out" ? 5_000 : Math.round((0.2 + 2 * this.#random()) * 1e6) / 1e6;
    await new Promise((resolve) => setTimeout(resolve, latencyMs));
    const lookup: Action = { outcome: "DNSDone", at, latencyMs: 0.4, message: `${host} resolved to 10.201.0.7` };
    const connect: Action = why
      ? { outcome: "ConnectError", at, latencyMs, message: `Failed connect to ${text}; ${why}` }
      : { outcome: "ConnectDone", at, latencyMs, message: address ? `Connected to ${text}` : `Connection to ${text} established.` };
    return { seq, at, target: text, reachable: !why, actions: address ? [connect] : [lookup, connect] };
  }

  /** One in four is a name. */
  targetOf(check: number): string {
    const [first, last] = [SHARED.first * this.#checks, (SHARED.first + SHARED.part) * this.#checks];
    if (check >= first && check < last) return SHARED.target;
    return check % 4 === 0 ? `service-${check}.shop.svc:8080` : `10.100.${check >> 8}.${check & 255}:8080`;
  }

  #break(target: string, from: number, ms: number, why: string): void {
    const broken = this.#broken.get(target) ?? [];
    broken.push({ from, to: from + ms, why });
    this.#broken.set(target, broken);
  }
}

/** The same numbers for the same seed: mulberry32. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
