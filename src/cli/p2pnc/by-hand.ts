import { probe } from "../../connectivity/probe/probe.ts";
import { ProbeScheduler } from "../../connectivity/probe/scheduler.ts";
import type { Target } from "../../connectivity/probe/target.ts";
import type { Attempt } from "../../connectivity/attempt.ts";
import { parsePrefix } from "../../ip/prefix.ts";
import { colorizeFor } from "../print/color.ts";
import { untilStopped } from "../shared/signals.ts";
import { AttemptTable, attemptLine, exitCodeOf } from "./printed-attempts.ts";
import { tryOnce } from "./try-once.ts";

export interface ByHandOptions {
  once: boolean;
  output: "json" | undefined;
  intervalMs: number;
}

/** Who types a target may connect to it anyway. */
const ANYWHERE = ["0.0.0.0/0", "::/0"].map(parsePrefix);

/** Tries targets without a cluster, once or until told to end. */
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
