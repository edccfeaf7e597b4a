import type { Action, Attempt } from "../../src/connectivity/attempt.ts";
import type { Target } from "../../src/connectivity/probe/target.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

export const CHECKS = 5_000;
export const HOURS = 10;

/** Of the checks: those that try the same target, those that an incident hits, those that fail every few minutes all day. */
const SHARED = { first: 1_000, count: 100, target: "10.200.0.1:443" };
const INCIDENT = { first: 2_000, count: 500 };
const RESTLESS = { first: 3_000, count: 5 };

interface Breakage {
  readonly from: number;
  readonly to: number;
  readonly why: string;
}

/** Who is reached when: one check in five fails for a moment once or twice, one target is down for a while, and one incident hits 500. */
export class World {
  readonly #random: () => number;
  readonly #broken = new Map<string, Breakage[]>();

  /** The times of breakages count from `start`. */
  constructor(start: number, random: () => number) {
    this.#random = random;
    for (let flaps = 0; flaps < CHECKS / 5; flaps++) {
      const from = random() * HOURS * HOUR;
      this.#break(targetOf(Math.floor(random() * CHECKS)), start + from, (0.5 + 2 * random()) * MINUTE, "Connection timed out");
    }
    this.#break(SHARED.target, start + 2 * HOUR, 10 * MINUTE, "Connection refused");
    this.#break(SHARED.target, start + 2 * HOUR + 10 * MINUTE, 35 * MINUTE, "Connection timed out");
    for (let n = 0; n < INCIDENT.count; n++) this.#break(targetOf(INCIDENT.first + n), start + 6 * HOUR, 12 * MINUTE, "No route to host");
    for (let n = 0; n < RESTLESS.count; n++) {
      for (let at = 0; at < HOURS * HOUR; at += 5 * MINUTE)
        this.#break(targetOf(RESTLESS.first + n), start + at, 1.5 * MINUTE, "Connection refused");
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

  #break(target: string, from: number, ms: number, why: string): void {
    const broken = this.#broken.get(target) ?? [];
    broken.push({ from, to: from + ms, why });
    this.#broken.set(target, broken);
  }
}

/** One in four is a name. */
export function targetOf(check: number): string {
  if (check >= SHARED.first && check < SHARED.first + SHARED.count) return SHARED.target;
  return check % 4 === 0 ? `service-${check}.shop.svc:8080` : `10.100.${check >> 8}.${check & 255}:8080`;
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
