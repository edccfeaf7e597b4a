import { progressOn, type Progress } from "../progress.ts";
import { reportToStarter, STOPPED_EARLY } from "../start-report.ts";
import { APPLICATION, type SiteName, SITES } from "../sites/names.ts";
import { startTwoSites, type TwoSites } from "../sites/two-sites.ts";
import { FailoverPolicy } from "../../src/api/failover/failover-policy.ts";
import { Cache } from "../../src/kube/cache/cache.ts";
import { CliError, EXIT } from "../../src/cli/shared/exit.ts";
import { untilStopped } from "../../src/cli/shared/signals.ts";
import { type RunningSites, sitesInBackground } from "./running-sites.ts";

/** Leaves it running in the background and prints how to speak to it. */
export async function startSites(): Promise<void> {
  let running = await sitesInBackground.find();
  if (!running) {
    const [node = ""] = process.argv;
    const command = [node, ...process.execArgv, process.argv[1] ?? "", "lab", "up", "--sites", "2", "--background"];
    running = await sitesInBackground.start(command, progressOn(process.stderr));
  }
  say(directions(running).join("\n"));
}

/** Holds both sites until told to end, and tells what becomes of their policies. */
export async function runSitesInForeground(): Promise<void> {
  const early = await hold(progressOn(process.stdout), async (lab, stopped) => {
    say([...directions(described(lab)), "Press Ctrl-C to stop."].join("\n"));
    const watching = new AbortController();
    for (const name of SITES) tellChanges(lab, name, watching.signal);
    await stopped;
    watching.abort();
  });
  if (early !== undefined) say(early);
}

/** What `up` leaves in the background. */
export async function runSitesInBackground(): Promise<void> {
  await reportToStarter(async (progress, up) => {
    const early = await hold(progress, (_lab, stopped) => {
      up();
      return stopped;
    });
    if (early !== undefined) throw new CliError(early, EXIT.unknown);
  });
}

/** Returns what to say if it was stopped before it was up. */
async function hold(progress: Progress, whileUp: (lab: TwoSites, stopped: Promise<void>) => Promise<void>): Promise<string | undefined> {
  const other = await sitesInBackground.find();
  if (other) throw new CliError(`A lab of two sites is already running (pid ${other.pid}): run plumbline lab down first`, EXIT.no);
  const abort = new AbortController();
  const stopRequested = untilStopped().then(() => abort.abort());
  await using ending = new AsyncDisposableStack();
  let lab: TwoSites;
  try {
    lab = await startTwoSites({ progress, controller: controllerOn, signal: abort.signal });
  } catch (error) {
    progress.failed();
    if (!abort.signal.aborted) throw error;
    return STOPPED_EARLY;
  }
  ending.defer(() => lab.stop());
  ending.defer(await sitesInBackground.record(described(lab)));
  await whileUp(lab, stopRequested);
  return undefined;
}

export function controllerOn(kubeconfig: string): readonly [string, ...string[]] {
  const program = [...process.execArgv, process.argv[1] ?? "", "controller"];
  return [process.execPath, ...program, "--kubeconfig", kubeconfig, "--webhook-mode", "disabled", "--health-address", "127.0.0.1:0"];
}

function described({ kubeconfig, directory, sites }: TwoSites): RunningSites {
  return { kubeconfig, directory, urls: { east: sites.east.server.url, west: sites.west.server.url } };
}

function directions({ kubeconfig }: RunningSites): string[] {
  const { namespace, policy } = APPLICATION;
  const at = (site: SiteName) => `--context ${site} -n ${namespace}`;
  return [
    `Two sites of one application, contexts ${SITES.join(" and ")}: export KUBECONFIG=${kubeconfig}`,
    `Switch: plumbline failover switch ${policy} --to secondary --wait ${at("east")}`,
    `        plumbline failover switch ${policy} --to primary --wait ${at("west")}`,
    `Watch:  plumbline lab status, plumbline describe failoverpolicy ${policy} ${at("west")}`,
    `Break:  plumbline lab break volume-never-arrives --site east`,
  ];
}

function tellChanges({ sites }: TwoSites, name: SiteName, signal: AbortSignal): void {
  const policies = new Cache(sites[name].client, FailoverPolicy, { namespace: APPLICATION.namespace });
  let last = "";
  policies.subscribe((change) => {
    const line = `${name}: ${change.object.status?.summary ?? ""}`;
    if (line !== last) say(line);
    last = line;
  });
  policies.start(signal);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
