import type { Attempt } from "../../connectivity/history/attempt.ts";
import { probe } from "../../connectivity/probe/probe.ts";
import type { Target } from "../../connectivity/probe/target.ts";
import { type Prefix, parsePrefix } from "../../ip/prefix.ts";
import { colorizeFor } from "../print/color.ts";
import { AttemptTable, attemptsText, exitCodeOf, type PrintedAttempt, attemptLine } from "./printed-attempts.ts";
import { ProbeScheduler } from "../../connectivity/probe/scheduler.ts";
import { untilStopped } from "../shared/signals.ts";

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
