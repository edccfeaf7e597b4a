import { missingFeatureText } from "../machine/start.ts";
import { hostAddress, hostNames, type NodeName, SEGMENTS, type Topology } from "../net/topology.ts";
import { progressOn } from "../progress.ts";
import { createLog } from "../../src/kube/log.ts";
import { CliError, EXIT } from "../../src/cli/shared/exit.ts";
import type { PageAddress } from "../../src/cli/dashboard/page-address.ts";
import { untilStopped } from "../../src/cli/shared/signals.ts";
import { recordUp } from "../../src/cli/shared/running-ups.ts";
import { type LiveView, lineView, screenView } from "../../src/cli/live-view/view.ts";
import { reportToStarter, STOPPED_EARLY } from "../start-report.ts";
import { labManifests, type RouterLab, type RouterLabOptions, startRouterLab } from "./router-lab.ts";
import { background, described, kernelTitle } from "./running.ts";
import { type RequestedTopology, assertSameTopology, topologyFlags, topologyFor } from "./topology-options.ts";
import { statusView } from "./status-view.ts";
import { Reachability } from "./reachability.ts";
import { Connections } from "./connections.ts";
import { ServiceChanges, serviceLines } from "./service-lines.ts";
import { targetsOf } from "./announced-services.ts";
import { Traffic } from "./traffic.ts";

export interface LabUpOptions {
  readonly kube?: boolean;
  readonly kernel?: string;
  readonly pageAddress?: PageAddress;
  readonly topology: RequestedTopology;
}

const TRAFFIC_EVERY_MS = 500;
const CONNECT_EVERY_MS = 1_000;
/** A sixth of the time in a cluster: faults in the lab should be visible soon. */
const CHECK_INTERVAL = "10s";
const HEAD_EVERY_MS = 1_000;

/** Leaves it running in the background and prints its kubeconfig. */
export async function startLab({ kube = false, kernel, pageAddress, topology }: LabUpOptions): Promise<void> {
  let running = await background.find();
  if (running) {
    assertSameTopology(running.topology, topology);
    process.stderr.write(`Using the lab that is already running (pid ${running.pid}): every lab command here is about this one\n`);
  } else {
    const [node = ""] = process.argv;
    const kernelFlags = kernel === undefined ? [] : ["--kernel", kernel];
    const flags = [...(kube ? ["--kube"] : []), ...kernelFlags, ...pageFlags(pageAddress), ...topologyFlags(topology)];
    running = await background.start(
      [node, ...process.execArgv, process.argv[1] ?? "", "lab", "up", "--background", ...flags],
      progressOn(process.stderr),
    );
  }
  // Scripts take what is on standard output for the kubeconfig.
  if (running.page !== undefined) process.stderr.write(`${running.page}\n`);
  say(running.kubeconfig);
}

/** Holds the lab until told to end, with a live view of it. */
export async function runInForeground({ kube = false, kernel, pageAddress, topology }: LabUpOptions): Promise<void> {
  const onTerminal = process.stdout.isTTY && process.env["TERM"] !== "dumb";
  let view: LiveView | undefined;
  const log = createLog({ level: "warn", pretty: true, write: (line) => (view ? view.tell(line.trimEnd()) : process.stderr.write(line)) });
  const early = await hold(
    { kube, kernel, page: pageAddress, topology: topologyFor(topology), log, progress: progressOn(process.stdout) },
    async (lab, stopped) => {
      const page = await lab.page;
      const traffic = lab.routers ? startTraffic(lab) : [];
      const connections = new Connections({ host: lab.host("client"), everyMs: CONNECT_EVERY_MS });
      const news = new ServiceChanges(connections);
      const ended = new AbortController();
      const reached = new Reachability(lab.api.client);
      reached.start(ended.signal);
      const head: string[] = [];
      const fill = () => {
        connections.aim(targetsOf(lab.services.list()));
        head.splice(0, head.length, ...headOf(lab, traffic, page), ...serviceLines(lab.services.list(), connections), ...reached.lines());
        for (const line of onTerminal ? [] : [...news.of(lab.services.list()), ...reached.news()]) view?.tell(line);
      };
      fill();
      const tick = setInterval(fill, HEAD_EVERY_MS);
      const { embedded, client } = lab.api;
      view = embedded ? (onTerminal ? screenView(embedded, head) : lineView(embedded, head)) : statusView(client, head);
      await stopped;
      ended.abort();
      clearInterval(tick);
      view.close();
      view = undefined;
    },
  );
  if (early !== undefined) say(early);
}

/** The background process of `up`. */
export async function runInBackground({ kube = false, kernel, pageAddress, topology }: LabUpOptions): Promise<void> {
  await reportToStarter(async (progress, up) => {
    const early = await hold(
      { kube, kernel, page: pageAddress, topology: topologyFor(topology), log: createLog({ level: "warn" }), progress },
      (_lab, stopped) => {
        up();
        return stopped;
      },
    );
    if (early !== undefined) throw new CliError(early, EXIT.unknown);
  });
}

type LabOptions = Pick<RouterLabOptions, "log" | "progress" | "page" | "kernel"> & { kube: boolean; topology: Topology };

/** Returns what to say if it was stopped before it was up. */
async function hold(options: LabOptions, whileUp: (lab: RouterLab, stopped: Promise<void>) => Promise<void>): Promise<string | undefined> {
  const other = await background.find();
  if (other) throw new CliError(`A lab is already running (pid ${other.pid}): run plumbline lab down first`, EXIT.no);
  const abort = new AbortController();
  const stopRequested = untilStopped().then(() => abort.abort());
  await using ending = new AsyncDisposableStack();
  let lab: RouterLab;
  try {
    lab = await startRouterLab({
      ...options,
      manifests: (lab) => labManifests({ kube: options.kube, topology: options.topology, checks: true, ...lab }),
      standIns: true,
      checkInterval: CHECK_INTERVAL,
      signal: abort.signal,
    });
  } catch (error) {
    options.progress.failed();
    if (!abort.signal.aborted) throw error;
    return STOPPED_EARLY;
  }
  ending.defer(() => lab.stop());
  ending.defer(await background.record(await described(lab)));
  const { embedded, manifests, url, kubeconfig } = lab.api;
  const endpoint = embedded ? { socket: embedded.socket } : { url, kubeconfig };
  ending.defer(recordUp({ directory: manifests ?? lab.directory, endpoint }));
  await whileUp(lab, Promise.race([stopRequested, lab.gone.then(() => undefined)]));
  if (!abort.signal.aborted) throw new CliError(`The lab's machine exited unexpectedly:\n${await lab.gone}`, EXIT.unknown);
  return undefined;
}

/** Between the hosts of the first three nodes, and between the two segments of the first two. */
function startTraffic(lab: RouterLab): Traffic[] {
  const [shop, stock] = SEGMENTS;
  if (!shop || !stock) return [];
  const over = (from: NodeName, to: NodeName, segment: typeof shop) =>
    new Traffic({
      label: segment === shop ? `shop ${from} → ${to}` : `shop ${from} → stock ${to}`,
      host: lab.host(from),
      namespace: shop.name,
      to: hostAddress(segment, to),
      everyMs: TRAFFIC_EVERY_MS,
    });
  const [first, second, third] = lab.net.topology.nodes;
  if (!first || !second) return [];
  return [over(first, second, shop), ...(third ? [over(second, third, shop)] : []), over(first, second, stock)];
}

function headOf({ api, kernel, routers, net }: RouterLab, traffic: readonly Traffic[], page: string | undefined): string[] {
  return [
    `The lab runs on ${kernelTitle(kernel)}: ${hostNames(net.topology).join(", ")}.`,
    ...kernel.missing.map((feature) => `That kernel ${missingFeatureText(feature)}.`),
    ...(routers ? [] : ["Without routers the nodes' load balancers peer with the ToR."]),
    ...(page === undefined ? [] : [page]),
    `kubectl: export KUBECONFIG=${api.kubeconfig}`,
    ...(api.manifests === undefined ? [] : [`Manifests to edit: ${api.manifests}`]),
    `Try: plumbline lab exec node1 -- vtysh -N plumbline-${routers ? "router" : "lb"}, plumbline lab break link-down, plumbline get plumbline -A. Press Ctrl-C to stop.`,
    ...(traffic.length > 0 ? [`Traffic: ${traffic.map(trafficText).join(", ")}`] : []),
  ];
}

function trafficText({ label, milliseconds, answered }: Traffic): string {
  if (milliseconds !== undefined) return `${label} ${milliseconds} ms`;
  return `${label} ${answered === 0 ? "not yet" : "lost"}`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function pageFlags(address: PageAddress | undefined): string[] {
  if (!address) return ["--page-address", "off"];
  const { host = "", port, chosen } = address;
  return chosen ? ["--page-address", `${host.includes(":") ? `[${host}]` : host}:${port}`] : [];
}
