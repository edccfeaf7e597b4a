import { readFile, writeFile } from "node:fs/promises";
import { createLog } from "../../src/kube/log.ts";
import { EXIT } from "../../src/cli/shared/exit.ts";
import { printItems } from "../../src/cli/print/items.ts";
import { untilStopped } from "../../src/cli/shared/signals.ts";
import { startDrillLab } from "../drill/start-lab.ts";
import { findingText, fuzzSection, summaryText, withSection } from "../fuzz/report.ts";
import { type FuzzFinding, fuzzLab } from "../fuzz/run.ts";
import type { FuzzOutcome } from "../fuzz/runner.ts";
import { progressOn } from "../progress.ts";

export interface FuzzCommandOptions {
  readonly minutes: number;
  readonly seed?: number;
  readonly output?: "json";
  readonly write?: string;
}

/** Random changes in a lab of its own, until the time is over or Ctrl-C. */
export async function fuzz({ minutes, seed = Date.now() % 1_000_000, output, write }: FuzzCommandOptions): Promise<void> {
  const stop = new AbortController();
  void untilStopped().then(() => stop.abort());
  const { signal } = stop;
  const tell = output === "json" ? () => undefined : say;
  const lab = await startDrillLab({
    kube: false,
    routers: true,
    log: createLog({ level: "error" }),
    progress: progressOn(process.stderr),
    signal,
  });
  await using ending = new AsyncDisposableStack();
  ending.defer(() => lab.stop());
  tell(`Random changes for ${minutes} min, seed ${seed}`);
  const result = await fuzzLab(lab, { minutes, seed, tell, signal });
  const { outcomes, findings } = result;
  if (output === "json")
    printItems(
      "Fuzz",
      outcomes.map((outcome) => itemOf(outcome, seed, findings)),
    );
  for (const finding of findings) tell(`\n${findingText(finding)}`);
  tell(`\nSeed ${seed}: ${summaryText(result)}`);
  if (write !== undefined) {
    const page = await readFile(write, "utf8").catch(() => "");
    await writeFile(write, withSection(page, fuzzSection(result, { minutes, seed })));
  }
  if (findings.length > 0) process.exitCode = EXIT.no;
}

/** With the shortest history that still fails, where it failed. */
function itemOf(outcome: FuzzOutcome, seed: number, findings: readonly FuzzFinding[]): object {
  const { change, text, verdict, left, limit } = outcome;
  const { node, scope, kind, make, undo } = change;
  const history = findings.find((finding) => finding.outcome === outcome)?.history;
  return { seed, node, scope, kind, text, make, undo, verdict, left, ...(limit !== undefined && { limit }), ...(history && { history }) };
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
