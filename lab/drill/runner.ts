import { setTimeout as sleep } from "node:timers/promises";
import type { NodeName } from "../net/topology.ts";
import type { Cause } from "../../src/explain/answer.ts";
import { type Expectation, type Fault, type FaultContext, type Flow } from "../faults/fault.ts";
import { observationOf, isOver, type Sample } from "./samples.ts";
import type { BackgroundTraffic, PacketLoss } from "./traffic.ts";
import { type FaultScore, scoreFault, type FaultResult } from "./result.ts";
import type { StatusReader } from "./status-reader.ts";
import { identityOf, newStatements } from "./statements.ts";

const LOOK_EVERY_MS = 200;
const CLEARED_WITHIN_MS = 240_000;
/** Connections that were on their way. */
const PASSES = 2;

export interface DrillResult {
  readonly outcome: FaultResult;
  readonly judgment: FaultScore;
}

/** A fault, and where it is. */
export interface PlacedFault {
  readonly name: string;
  readonly fault: Fault;
  readonly node: NodeName;
  readonly expected: Expectation;
}

interface Stage {
  readonly sight: StatusReader;
  readonly flows: BackgroundTraffic;
  readonly ground: Omit<FaultContext, "node">;
}

/** What was not well before anything was broken. */
interface Rest {
  readonly words: ReadonlySet<string>;
  readonly causes: ReadonlySet<string>;
}

/** Breaks things in the lab one after the other, looks at what is said of each, and fixes it. */
export class DrillRunner {
  readonly #stage: Stage;
  readonly #signal: AbortSignal;

  constructor(stage: Stage) {
    this.#stage = stage;
    this.#signal = stage.ground.signal;
  }

  /** Until all is well and all traffic passes. Returns what was not, if that does not come. */
  async settle(withinMs: number): Promise<string[]> {
    return (await this.#rested({ words: new Set(), causes: new Set() }, performance.now() + withinMs)) ?? [];
  }

  async of(faults: readonly PlacedFault[]): Promise<DrillResult[]> {
    const rest = this.#rest();
    const before = this.#stage.flows.losses();
    const expectations = faults.map(({ expected }) => expected);
    for (const { fault, node } of faults) await fault.break({ ...this.#stage.ground, node });
    const samples = await this.#follow(rest, expectations);
    for (const { fault, node } of faults.toReversed()) await fault.fix?.({ ...this.#stage.ground, node });
    const restored = performance.now();
    const left = await this.#rested(rest, restored + CLEARED_WITHIN_MS);
    const clearedMs = performance.now() - restored;
    const interrupted = interruptedBy(before, this.#stage.flows.losses(), expectations);
    return faults.map(({ name, fault, expected }, index) => {
      const other = faults[index === 0 ? 1 : 0]?.name;
      const outcome: FaultResult = {
        fault: name,
        domain: fault.domain,
        ...(other !== undefined && { with: other }),
        ...observationOf(samples, expected, faults.length),
        ...(left === undefined && { clearedMs }),
        left: left ?? [],
        interrupted,
      };
      return { outcome, judgment: scoreFault(outcome, expected) };
    });
  }

  #rest(): Rest {
    const { sight } = this.#stage;
    return {
      words: new Set(sight.words().map(identityOf)),
      causes: new Set(sight.causes().map(({ id }) => id)),
    };
  }

  async #follow(rest: Rest, expectations: readonly Expectation[]): Promise<Sample[]> {
    const { sight } = this.#stage;
    const began = performance.now();
    const samples: Sample[] = [];
    do {
      await sleep(samples.length === 0 ? 0 : LOOK_EVERY_MS, undefined, { signal: this.#signal });
      samples.push({
        atMs: performance.now() - began,
        words: newStatements(sight.words(), rest.words),
        causes: sight
          .causes()
          .filter(({ id }) => !rest.causes.has(id))
          .map(causeText),
      });
    } while (!expectations.every((expected) => isOver(samples, expected, expectations.length)));
    return samples;
  }

  /** Until nothing is wrong that was not before, and all traffic passes again. Returns what still is when it is too late. */
  async #rested(rest: Rest, deadline: number): Promise<string[] | undefined> {
    const { sight, flows } = this.#stage;
    const passed = flows.passed();
    for (;;) {
      const left = [
        ...sight
          .words()
          .filter(({ well, once, text }) => !well && once === undefined && !rest.words.has(text))
          .map(({ text }) => text),
        ...sight
          .causes()
          .filter(({ id }) => !rest.causes.has(id))
          .map((cause) => `why: ${causeText(cause)}`),
        ...stalled(passed, flows.passed()),
      ];
      if (left.length === 0) return undefined;
      if (performance.now() > deadline) return left;
      await sleep(LOOK_EVERY_MS, undefined, { signal: this.#signal });
    }
  }
}

function causeText({ id, reason = "", message }: Cause): string {
  return `${id} ${reason}${message === undefined ? "" : `: ${message}`}`;
}

function stalled(before: PacketLoss, now: PacketLoss): string[] {
  const still = [...now].filter(([flow, count]) => count < (before.get(flow) ?? 0) + PASSES);
  return still.map(([flow]) => `${flow} does not pass`);
}

function interruptedBy(before: PacketLoss, after: PacketLoss, expectations: readonly Expectation[]): Flow[] {
  const allowed = new Set(expectations.flatMap(({ interrupts = [] }) => interrupts));
  const lost = [...after].filter(([flow, count]) => count > (before.get(flow) ?? 0) && !allowed.has(flow));
  return lost.map(([flow]) => flow);
}
