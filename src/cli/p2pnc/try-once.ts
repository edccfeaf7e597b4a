import type { Attempt } from "../../connectivity/history/attempt.ts";
import { probe } from "../../connectivity/probe/probe.ts";
import type { Target } from "../../connectivity/probe/target.ts";
import { type Prefix, parsePrefix } from "../../ip/prefix.ts";
import { colorizeFor, type Color, type Colorize } from "../print/color.ts";
import { ProbeScheduler } from "../../connectivity/probe/scheduler.ts";
import { untilStopped } from "../shared/signals.ts";
import { durationText } from "../../connectivity/history/duration.ts";
import { isSuccess } from "../../connectivity/history/history.ts";
import { type TextCell, Columns, stripControlCharacters } from "../print/columns.ts";
import { itemsLine, itemsText } from "../print/items.ts";
import { EXIT } from "../shared/exit.ts";

/** So few in parallel that no probe waits for this process instead of its target. */
const TOGETHER = 32;

export interface RequestedProbe {
  readonly target: Target;
  readonly check?: string;
}

/** Tries everything once and prints the results in the given order. */
export async function tryOnce(
  wanted: ReadonlyMap<string, RequestedProbe>,
  { allowed, output }: { allowed: readonly Prefix[]; output: "json" | undefined },
): Promise<void> {
  const queue = [...wanted.keys()];
  const attempts = new Map<string, Attempt>();
  const { signal } = new AbortController();
  const work = async (): Promise<void> => {
    for (let key = queue.shift(); key !== undefined; key = queue.shift()) {
      const one = wanted.get(key);
      if (one) attempts.set(key, await probe(one.target, 1, { signal, allowed }));
    }
  };
  await Promise.all(Array.from({ length: TOGETHER }, work));

  const tried = [...wanted].flatMap(([key, { check }]): PrintedAttempt[] => {
    const attempt = attempts.get(key);
    return attempt ? [{ attempt, ...(check !== undefined && { check }) }] : [];
  });
  const table = new AttemptTable(colorizeFor(process.stdout));
  process.stdout.write(output === "json" ? attemptsText(tried) : `${table.lines(tried, { head: true }).join("\n")}\n`);
  process.exitCode = exitCodeOf(attempts.values());
}

interface ByHandOptions {
  once: boolean;
  output: "json" | undefined;
  intervalMs: number;
}

/** A user who types a target may connect to it anyway. */
const ANYWHERE = ["0.0.0.0/0", "::/0"].map(parsePrefix);

/** Tries targets without a cluster, once or until stopped. */
export async function tryByHand(targets: readonly Target[], { once, output, intervalMs }: ByHandOptions): Promise<void> {
  if (once) return tryOnce(new Map(targets.map((target) => [target.text, { target }])), { allowed: ANYWHERE, output });
  const last = new Map<string, Attempt>();
  const table = new AttemptTable(colorizeFor(process.stdout));
  const rounds = new ProbeScheduler({
    intervalMs,
    probe: (target, seq, signal, admit) => probe(target, seq, { signal, admit, allowed: ANYWHERE }),
    onAttempt(key, attempt) {
      const head = last.size === 0;
      last.set(key, attempt);
      process.stdout.write(output === "json" ? attemptLine({ attempt }) : `${table.lines([{ attempt }], { head }).join("\n")}\n`);
    },
  });
  for (const target of targets) rounds.set(target.text, target);
  const stop = new AbortController();
  void untilStopped().then(() => stop.abort());
  await rounds.run(stop.signal);
  process.exitCode = exitCodeOf(last.values());
}

interface PrintedAttempt {
  readonly attempt: Attempt;
  readonly check?: string;
}

const KIND = "ConnectivityAttempt";
const HEAD = ["TARGET", "REACHABLE", "LATENCY", "MESSAGE"];

class AttemptTable {
  readonly #columns: Columns;

  constructor(colorize: Colorize) {
    this.#columns = new Columns(colorize);
  }

  lines(tried: readonly PrintedAttempt[], { head }: { head: boolean }): string[] {
    const named = tried.some(({ check }) => check !== undefined);
    const header = [...(named ? ["CHECK"] : []), ...HEAD].map((text): TextCell => ({ text }));
    return this.#columns.lines([
      ...(head ? [header] : []),
      ...tried.map((one) => [...(named ? [{ text: one.check ?? "" }] : []), ...cells(one)]),
    ]);
  }
}

function attemptsText(tried: readonly PrintedAttempt[]): string {
  return itemsText(KIND, tried.map(itemOf));
}

function attemptLine(tried: PrintedAttempt): string {
  return itemsLine(KIND, [itemOf(tried)]);
}

/** Unreachable is an answer; a probe that could not run is not. */
function exitCodeOf(attempts: Iterable<Attempt>): number {
  const all = [...attempts];
  if (all.some(({ fault, reachable }) => fault === undefined && !reachable)) return EXIT.no;
  return all.some(({ fault }) => fault !== undefined) ? EXIT.unknown : EXIT.fine;
}

function cells({ attempt }: PrintedAttempt): TextCell[] {
  const { target, reachable, actions, fault } = attempt;
  const [verdict, color]: [string, Color] = fault !== undefined ? ["Unknown", "yellow"] : reachable ? ["True", "green"] : ["False", "red"];
  const decisive = actions.findLast((action) => isSuccess(action) === reachable);
  return [
    { text: target },
    { text: verdict, color },
    { text: decisive ? durationText(Math.round(decisive.latencyMs * 10) / 10) : "" },
    { text: stripControlCharacters(fault ?? decisive?.message ?? "") },
  ];
}

function itemOf({ attempt, check }: PrintedAttempt): object {
  const { target, at, reachable, actions, fault } = attempt;
  return {
    ...(check !== undefined && { check }),
    target,
    time: new Date(at).toISOString(),
    reachable: fault === undefined ? reachable : null,
    ...(fault !== undefined && { fault }),
    actions: actions.map((action) => ({
      time: new Date(action.at).toISOString(),
      success: isSuccess(action),
      reason: action.outcome,
      message: action.message,
      latency: durationText(action.latencyMs),
    })),
  };
}
