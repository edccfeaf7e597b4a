import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { namespaceOf, numberOf, ROUND, teamOf } from "./services.ts";

/** A bench and its contestants share a machine, and so a clock. */
export const wallClock = () => performance.timeOrigin + performance.now();

/** What this bench reads of a Service, ours or client-node's. */
interface ObservedObject {
  metadata?: { namespace?: string; name?: string; annotations?: Record<string, string> };
}

/** Everything is listed and indexed: the changes may begin. */
export interface Listed {
  /** From the start of the process. */
  listedMs: number;
}

/** The server has accepted the last change. */
export interface Written {
  at: number;
}

export interface Report {
  /** From the last change's acceptance until all had been seen. */
  lagMs: number;
  cpuMs: number;
  peakMiB: number;
  /** Services whose last change the handler did not get, or that the index does not find in their last state. */
  lost: number;
}

/** How long after the last write a change may still come in; what has not by then is lost. */
const PATIENCE_MS = 20_000;

/** Follows a contestant from its start to the last change of a round. It keeps one byte per Service, not to be measured itself. */
export class Observer {
  readonly #round: string;
  readonly #services: number;
  readonly #observed: Uint8Array;
  readonly #written: Promise<Written>;
  #listed = 0;
  #due: number;
  #lastObserved = 0;

  constructor(round: string, services: number) {
    this.#round = round;
    this.#services = services;
    this.#observed = new Uint8Array(services);
    this.#due = services;
    this.#written = new Promise((resolve) => process.once("message", resolve));
  }

  /** For the contestant's handler: an object was added. */
  added({ metadata }: ObservedObject): void {
    // The server brings one of its own.
    if (metadata?.annotations?.[ROUND] === undefined) return;
    if (++this.#listed === this.#services) process.send?.({ listedMs: performance.now() } satisfies Listed);
  }

  /** For the contestant's handler: an object was changed. */
  changed(object: ObservedObject): void {
    const n = numberOf(object.metadata?.name);
    if (this.#observed[n] === 1 || !this.#isFinal(object)) return;
    this.#observed[n] = 1;
    this.#due -= 1;
    this.#lastObserved = wallClock();
  }

  /** Waits for the end of the round, then looks everything up. */
  async report(byTeam: (team: string) => Iterable<ObservedObject>): Promise<void> {
    const { at } = await this.#written;
    while (this.#due > 0 && wallClock() < at + PATIENCE_MS) await sleep(5);
    const lagMs = this.#due > 0 ? PATIENCE_MS : Math.max(0, this.#lastObserved - at);
    const { user, system } = process.cpuUsage();
    const cost = { lagMs, cpuMs: (user + system) / 1000, peakMiB: peakMemory() };
    process.send?.({ ...cost, lost: this.#lost(byTeam) } satisfies Report);
  }

  #lost(byTeam: (team: string) => Iterable<ObservedObject>): number {
    let lost = 0;
    for (let n = 0; n < this.#services; n++) {
      const found = byTeam(teamOf(n, Number(this.#round)));
      const itself = ({ metadata }: ObservedObject) => metadata?.namespace === namespaceOf(n) && numberOf(metadata.name) === n;
      if (this.#observed[n] !== 1 || ![...found].some((object) => itself(object) && this.#isFinal(object))) lost += 1;
    }
    return lost;
  }

  #isFinal({ metadata }: ObservedObject): boolean {
    return metadata?.annotations?.[ROUND] === this.#round;
  }
}

/** The kernel's own high-water mark, which no sampling can miss. */
function peakMemory(): number {
  const [, kib = 0] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
  return Number(kib) / 1024;
}
