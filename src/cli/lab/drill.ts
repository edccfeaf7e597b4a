import { writeFile } from "node:fs/promises";
import type { LabHost } from "../../../lab/net/lab-host.ts";
import type { NodeName } from "../../../lab/net/topology.ts";
import { progressOn } from "../../../lab/progress.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createLog } from "../../kube/log.ts";
import { EXIT } from "../exit.ts";
import { printItems } from "../printing/items.ts";
import { untilStopped } from "../signals.ts";
import { AnnouncedServices } from "./announced-services.ts";
import { Exercise, type Exercised, type Placed } from "./drilling/exercise.ts";
import { Flows } from "./drilling/flows.ts";
import { pairsOf } from "./drilling/pairs.ts";
import { complaintsOf, drillDocument, headLine, isGoodOne, outcomeLine, scoreLine } from "./drilling/report.ts";
import { Sight } from "./drilling/sight.ts";
import { startDrillLab } from "./drilling/stage.ts";
import { FAULTS } from "./faults.ts";

export interface DrillOptions {
  readonly only?: readonly string[];
  readonly pairs?: number;
  readonly seed?: number;
  readonly output?: "json";
  readonly write?: string;
}

/** Where everything is broken: not the first node, so that a fault of all nodes is not mistaken for one of the node that is named first. */
const NODE: NodeName = "node2";
const AT_REST_WITHIN_MS = 240_000;

/** Breaks everything once in a lab of its own, and tells what was said of it. */
export async function drill(options: DrillOptions): Promise<void> {
  const stop = new AbortController();
  void untilStopped().then(() => stop.abort());
  const lab = await startDrillLab({ log: createLog({ level: "error" }), progress: progressOn(process.stderr), signal: stop.signal });
  try {
    const tell = options.output === "json" ? () => undefined : say;
    const exercised = await drillIn({ client: lab.api.client, host: (name) => lab.host(name), signal: stop.signal, tell }, options);
    if (options.output === "json")
      printItems(
        "Drill",
        exercised.map(({ outcome, judgement }) => ({ ...outcome, ...judgement })),
      );
    else say(`\n${scoreLine(exercised)}`);
    if (options.write !== undefined) await writeFile(options.write, drillDocument(exercised, aboutOf));
    if (!exercised.every(isGoodOne)) process.exitCode = EXIT.no;
  } finally {
    await lab.stop();
  }
}

interface Ground {
  readonly client: KubeClient;
  readonly host: (name: string) => LabHost;
  readonly signal: AbortSignal;
  readonly tell: (line: string) => void;
  /** How many times as long everything may take, on a machine that is busy. */
  readonly patience?: number;
}

/** The same in a lab that runs. */
export async function drillIn({ tell, patience = 1, ...ground }: Ground, { only, pairs, seed = 1 }: DrillOptions): Promise<Exercised[]> {
  const ending = new AbortController();
  const signal = AbortSignal.any([ground.signal, ending.signal]);
  const sight = new Sight(ground.client);
  const services = new AnnouncedServices(ground.client);
  const flows = new Flows(ground.host);
  try {
    services.subscribe(() => flows.aim(services.list()));
    services.start(signal);
    await sight.open(signal);
    const exercise = new Exercise({ sight, flows, patience, ground: { ...ground, signal } });
    const unwell = await exercise.settle(AT_REST_WITHIN_MS * patience);
    for (const text of unwell) tell(`At rest: ${text}`);
    tell(headLine());
    const exercised: Exercised[] = [];
    const singles = placed(only);
    for (const faults of pairs === undefined ? singles.map((one) => [one]) : pairsOf(singles, pairs, seed)) {
      for (const one of await exercise.of(faults)) {
        exercised.push(one);
        tell(outcomeLine(one));
        for (const complaint of complaintsOf(one)) tell(`  ${complaint}`);
      }
    }
    return exercised;
  } finally {
    ending.abort();
    await flows.stop();
  }
}

function placed(only: readonly string[] = Object.keys(FAULTS)): Placed[] {
  return only.flatMap((name) => {
    const fault = FAULTS[name];
    const expected = fault?.expect?.(NODE);
    return fault && expected ? [{ name, fault, node: NODE, expected }] : [];
  });
}

function aboutOf(name: string): string {
  return FAULTS[name]?.about ?? "";
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
