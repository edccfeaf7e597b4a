import { readFile, writeFile } from "node:fs/promises";
import { missingHere } from "../kernel/select.ts";
import type { NodeName } from "../net/topology.ts";
import { type Progress, progressOn } from "../progress.ts";
import { createLog } from "../../src/kube/log.ts";
import { EXIT } from "../../src/cli/shared/exit.ts";
import { printItems } from "../../src/cli/print/items.ts";
import { untilStopped } from "../../src/cli/shared/signals.ts";
import { DrillRunner, type DrillResult, type FaultOnNode } from "../drill/runner.ts";
import { BackgroundTraffic } from "../drill/traffic.ts";
import { isGood } from "../drill/result.ts";
import { pairsOf } from "../drill/pairs.ts";
import { apiLine, problemsOf, drillDocument, headLine, outcomeLine, scoreLine } from "../drill/report.ts";
import { StatusReader } from "../drill/status-reader.ts";
import { startDrillLab } from "../drill/start-lab.ts";
import { sectionOf, withSection } from "../fuzz/report.ts";
import { FAULTS } from "../faults/faults.ts";

export interface DrillOptions {
  /** On a real API server instead of the embedded one. */
  readonly kube?: boolean;
  readonly only?: readonly string[];
  readonly pairs?: number;
  readonly seed?: number;
  readonly output?: "json";
  readonly write?: string;
}

/** Where everything is broken: not the first node, so that a fault of all nodes is not mistaken for one of the node that is named first. */
const NODE: NodeName = "node2";
const AT_REST_WITHIN_MS = 600_000;

/** Breaks everything once in a lab of its own, and tells what was said of it. */
export async function drill(options: DrillOptions): Promise<void> {
  const stop = new AbortController();
  void untilStopped().then(() => stop.abort());
  const tell = options.output === "json" ? () => undefined : say;
  const exercised = await drillAll({ signal: stop.signal, tell, progress: progressOn(process.stderr) }, options);
  const kube = options.kube ?? false;
  const items = exercised.map(({ outcome, judgment }) => ({ ...outcome, ...judgment, api: kube ? "kube-apiserver" : "embedded" }));
  if (options.output === "json") printItems("Drill", items);
  else say(`\n${scoreLine(exercised)}`);
  if (options.write !== undefined) {
    const fuzzed = sectionOf(await readFile(options.write, "utf8").catch(() => ""));
    await writeFile(options.write, withSection(drillDocument(exercised, { kube, about: aboutOf, others: leftOut() }), fuzzed));
  }
  if (!exercised.every(({ judgment }) => isGood(judgment))) process.exitCode = EXIT.no;
}

interface DrillContext {
  readonly signal: AbortSignal;
  readonly tell: (line: string) => void;
  readonly progress: Progress;
}

/** Where routers need User-Mode Linux, which has one slow processor, all that is not about them is broken at the same time in a second lab beside it. */
export async function drillAll(context: DrillContext, { kube = false, only, pairs, seed = 1 }: DrillOptions): Promise<DrillResult[]> {
  const singles = faultsOnNodes(only);
  const rounds: readonly FaultOnNode[][] = pairs === undefined ? singles.map((one) => [one]) : pairsOf(singles, pairs, seed);
  const [aboutRouters, others] = (await requiresTwoLabs(kube)) ? splitByDomain(rounds) : [rounds, []];
  const failed = new AbortController();
  const signal = AbortSignal.any([context.signal, failed.signal]);
  context.tell(apiLine(kube));
  context.tell(headLine());
  const labs = [
    { routers: true, rounds: aboutRouters },
    { routers: false, rounds: others },
  ].filter(({ rounds }) => rounds.length > 0);
  const drills = labs.map((part) =>
    drillIn({ ...context, signal, kube, ...part }).catch((error: unknown) => {
      failed.abort(error);
      throw error;
    }),
  );
  const outcomes = await Promise.allSettled(drills);
  failed.signal.throwIfAborted();
  return outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? outcome.value : []));
}

interface Part extends DrillContext {
  readonly kube: boolean;
  readonly routers: boolean;
  readonly rounds: readonly FaultOnNode[][];
}

async function drillIn({ tell, signal: given, ...part }: Part): Promise<DrillResult[]> {
  const { kube, routers, rounds, progress } = part;
  await using ending = new AsyncDisposableStack();
  const ended = new AbortController();
  const signal = AbortSignal.any([given, ended.signal]);
  const lab = await startDrillLab({ kube, routers, log: createLog({ level: "error" }), progress, signal: given });
  ending.defer(() => lab.stop());
  const { client } = lab.api;
  const host = (name: string) => lab.host(name);
  const flows = new BackgroundTraffic(host, { routers });
  ending.defer(() => flows.stop());
  ending.defer(() => ended.abort());
  lab.services.subscribe(() => flows.aim(lab.services.list()));
  flows.aim(lab.services.list());
  const reader = new StatusReader(client);
  await reader.open(signal);
  const exercise = new DrillRunner({ reader, flows, context: { nodes: lab.net.topology.nodes, client, host, signal } });
  for (const text of await exercise.converge(AT_REST_WITHIN_MS)) tell(`Before any fault: ${text}`);
  const exercised: DrillResult[] = [];
  for (const faults of rounds) {
    for (const one of await exercise.of(faults)) {
      exercised.push(one);
      tell([outcomeLine(one), ...problemsOf(one).map((problem) => `  ${problem}`)].join("\n"));
    }
  }
  return exercised;
}

/** Routers need VRF, which this machine's kernel may lack. The lab without routers runs on this kernel, where kube-proxy needs nftables. */
async function requiresTwoLabs(kube: boolean): Promise<boolean> {
  const missing = await missingHere();
  return missing.includes("vrf") && !(kube && missing.includes("nftables"));
}

function splitByDomain(rounds: readonly FaultOnNode[][]): [FaultOnNode[][], FaultOnNode[][]] {
  return [rounds.filter((faults) => faults.some(isAboutRouters)), rounds.filter((faults) => !faults.some(isAboutRouters))];
}

function isAboutRouters({ fault: { domain } }: FaultOnNode): boolean {
  return domain === "router" || domain === "cluster";
}

function faultsOnNodes(only: readonly string[] = Object.keys(FAULTS)): FaultOnNode[] {
  return only.flatMap((name) => {
    const fault = FAULTS[name];
    const expected = fault?.expect?.(NODE);
    return fault && expected ? [{ name, fault, node: NODE, expected }] : [];
  });
}

function leftOut(): string[] {
  return Object.keys(FAULTS).filter((name) => !FAULTS[name]?.expect);
}

function aboutOf(name: string): string {
  return FAULTS[name]?.about ?? "";
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
