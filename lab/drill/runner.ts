import { setTimeout as sleep } from "node:timers/promises";
import type { NodeName } from "../net/topology.ts";
import type { Cause } from "../../src/explain/answer.ts";
import { type Expectation, type Fault, type FaultContext, type Flow } from "../faults/fault.ts";
import { observationOf, isOver, type Sample } from "./samples.ts";
import type { BackgroundTraffic, PacketLoss } from "./traffic.ts";
import { type FaultScore, scoreFault, type FaultResult } from "./result.ts";
import type { StatusReader } from "./status-reader.ts";
import { identityOf, newStatements } from "./statements.ts";

const POLL_INTERVAL_MS = 200;
const CLEARED_WITHIN_MS = 240_000;
/** Connections that were on their way. */
const PASSES = 2;

export interface DrillResult {
  readonly outcome: FaultResult;
  readonly judgment: FaultScore;
}

export interface FaultOnNode {
  readonly name: string;
  readonly fault: Fault;
  readonly node: NodeName;
  readonly expected: Expectation;
}

interface DrillDeps {
  readonly reader: StatusReader;
  readonly flows: BackgroundTraffic;
  readonly context: Omit<FaultContext, "node">;
}

/** What was not well before anything was broken. */
interface Rest {
  readonly statements: ReadonlySet<string>;
  readonly causes: ReadonlySet<string>;
}

/** Applies one fault after the other in the lab, checks what is reported, and reverts it. */
export class DrillRunner {
  readonly #deps: DrillDeps;
  readonly #signal: AbortSignal;

  constructor(deps: DrillDeps) {
    this.#deps = deps;
    this.#signal = deps.context.signal;
  }

  /** Until all is well and all traffic passes. Returns what was not, if that does not come. */
  async converge(withinMs: number): Promise<string[]> {
    return (await this.#rested({ statements: new Set(), causes: new Set() }, performance.now() + withinMs)) ?? [];
  }

  async of(faults: readonly FaultOnNode[]): Promise<DrillResult[]> {
    const rest = this.#rest();
    const before = this.#deps.flows.losses();
    const expectations = faults.map(({ expected }) => expected);
    for (const { fault, node } of faults) await fault.break({ ...this.#deps.context, node });
    const samples = await this.#follow(rest, expectations);
    for (const { fault, node } of faults.toReversed()) await fault.fix?.({ ...this.#deps.context, node });
    const restored = performance.now();
    const left = await this.#rested(rest, restored + CLEARED_WITHIN_MS);
    const clearedMs = performance.now() - restored;
    const interrupted = interruptedBy(before, this.#deps.flows.losses(), expectations);
    return faults.map(({ name, fault, expected }, index) => {
      const other = faults[index === 0 ? 1 : 0]?.name;
      const outcome: FaultResult = {
        fault: name,
        domain: fault.domain,
        ...(fault.deadPath && { deadPath: true as const }),
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
    const { reader } = this.#deps;
    return {
      statements: new Set(reader.statements().map(identityOf)),
      causes: new Set(reader.causes().map(({ id }) => id)),
    };
  }

  async #follow(rest: Rest, expectations: readonly Expectation[]): Promise<Sample[]> {
    const { reader } = this.#deps;
    const began = performance.now();
    const samples: Sample[] = [];
    do {
      await sleep(samples.length === 0 ? 0 : POLL_INTERVAL_MS, undefined, { signal: this.#signal });
      samples.push({
        atMs: performance.now() - began,
        statements: newStatements(reader.statements(), rest.statements),
        causes: reader
          .causes()
          .filter(({ id }) => !rest.causes.has(id))
          .map(causeText),
      });
    } while (!expectations.every((expected) => isOver(samples, expected, expectations.length)));
    return samples;
  }

  /** Until nothing is wrong that was not before, and all traffic passes again. Returns what still is when it is too late. */
  async #rested(rest: Rest, deadline: number): Promise<string[] | undefined> {
    const { reader, flows } = this.#deps;
    const passed = flows.passed();
    for (;;) {
      const left = [
        ...reader
          .statements()
          .filter(({ well, once, text }) => !well && once === undefined && !rest.statements.has(text))
          .map(({ text }) => text),
        ...reader
          .causes()
          .filter(({ id }) => !rest.causes.has(id))
          .map((cause) => `why: ${causeText(cause)}`),
        ...stalled(passed, flows.passed()),
      ];
      if (left.length === 0) return undefined;
      if (performance.now() > deadline) return left;
      await sleep(POLL_INTERVAL_MS, undefined, { signal: this.#signal });
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
