import { setTimeout as sleep } from "node:timers/promises";
import type { AnnouncedService } from "../cli/announced-services.ts";
import type { RouterLab } from "../cli/router-lab.ts";
import { StatusReader } from "../drill/status-reader.ts";
import { type Change, changeText, mulberry32 } from "./change.ts";
import { shortest } from "./minimize.ts";
import { FuzzRunner, type FuzzOutcome, isFailure } from "./runner.ts";
import { outcomeText } from "./report.ts";
import { FuzzTraffic } from "./traffic.ts";

const POLL_INTERVAL_MS = 500;
const AT_REST_WITHIN_MS = 600_000;
/** For the search for a shorter history. */
const SEARCH_MS = 240_000;

export interface FuzzFinding {
  readonly outcome: FuzzOutcome;
  /** The changes that it takes, the last one included. */
  readonly history: readonly string[];
}

export interface FuzzResult {
  readonly outcomes: readonly FuzzOutcome[];
  readonly findings: readonly FuzzFinding[];
}

interface FuzzOptions {
  readonly minutes: number;
  readonly seed: number;
  readonly tell: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Random changes in a lab for so long. It ends early when the signal says so, or when the lab does not become healthy again. */
export async function fuzzLab(lab: RouterLab, { minutes, seed, tell, signal: given }: FuzzOptions): Promise<FuzzResult> {
  await using ending = new AsyncDisposableStack();
  const ended = new AbortController();
  const signal = AbortSignal.any([given, ended.signal]);
  ending.defer(() => ended.abort());
  const host = (name: string) => lab.host(name);
  const reader = new StatusReader(lab.api.client);
  await reader.open(signal);
  const services = await announced(lab, reader, signal);
  const traffic = new FuzzTraffic(host, lab.net.topology.nodes, services);
  ending.defer(() => traffic.stop());
  const runner = new FuzzRunner({ reader, traffic, host, nodes: lab.net.topology.nodes, signal });

  const outcomes: FuzzOutcome[] = [];
  const findings: FuzzFinding[] = [];
  const history: Change[] = [];
  const fails = async (changes: readonly Change[]) => {
    for (const change of changes) if (isFailure(await runner.make(change))) return true;
    return false;
  };
  try {
    for (const text of await runner.converge(AT_REST_WITHIN_MS)) tell(`Before any change: ${text}`);
    const random = mulberry32(seed);
    const until = performance.now() + minutes * 60_000;
    while (performance.now() < until) {
      const change = await runner.choose(random);
      if (!change) break;
      const outcome = await runner.make(change);
      if (outcome.verdict.is === "refused") continue;
      history.push(change);
      outcomes.push(outcome);
      tell(outcomeText(outcome));
      if (!isFailure(outcome)) continue;
      if (outcome.left.length > 0) {
        findings.push({ outcome, history: [changeText(change)] });
        tell("The lab does not become healthy again: the end.");
        break;
      }
      const searchUntil = performance.now() + SEARCH_MS;
      const found = await shortest(history, fails, () => performance.now() < searchUntil);
      findings.push({ outcome, history: found.map(changeText) });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return { outcomes, findings };
}

/** The Services, once all have their addresses and nothing is wrong. Traffic that has no way yet would keep User-Mode Linux busy. */
async function announced({ services }: RouterLab, reader: StatusReader, signal: AbortSignal): Promise<AnnouncedService[]> {
  const deadline = performance.now() + AT_REST_WITHIN_MS;
  for (;;) {
    const list = services.list();
    const isReady = list.length > 0 && list.every(({ addresses }) => addresses.length > 0);
    if ((isReady && reader.causes().length === 0) || performance.now() > deadline) return list;
    await sleep(POLL_INTERVAL_MS, undefined, { signal });
  }
}
