import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { memoryDirectory } from "../lab/kube/etcd.ts";
import type { NodeName } from "../lab/net/topology.ts";
import { silent } from "../lab/progress.ts";
import { Node } from "../src/api/core/node.ts";
import { ServiceBGPStatus } from "../src/api/metallb/service-bgp-status.ts";
import { RouterNodeConfigurationStatus } from "../src/api/openpe/router-node-configuration-status.ts";
import { ROUTER_NAMESPACE } from "../lab/cli/api.ts";
import { type RouterLab, startRouterLab } from "../lab/cli/router-lab.ts";
import { createLog } from "../src/kube/log.ts";
import { HostShare } from "./footprint/host-share.ts";
import { Watched } from "./footprint/in-the-lab.ts";
import { writeManifests } from "./footprint/manifests.ts";
import { WriteCounter } from "./footprint/written.ts";
import { launcherFlags } from "./process-under-test.ts";
import { compare, defineBench, mustBeZero } from "./measure.ts";

const NODE: NodeName = "node1";
const READY_WITHIN_MS = 900_000;
/** One percent of a core. */
const ALLOWED_MS_PER_SECOND = 10;

const { signal } = new AbortController();

export const bench = defineBench({
  // An L3VNI and an L2VNI with a gateway in every VRF; each Service has a pod on the node.
  full: { runs: 5, vrfs: 50, services: 1_000, warmMs: 30_000, idleMs: 60_000 },
  tiny: { runs: 1, vrfs: 1, services: 2, warmMs: 5_000, idleMs: 5_000 },
  async run({ runs, vrfs, services, warmMs, idleMs }, say) {
    const memory = await memoryDirectory("bench");
    await using ending = new AsyncDisposableStack();
    ending.defer(() => memory.remove());
    const manifests = join(memory.path, "manifests");
    await writeManifests(manifests, { node: NODE, vrfs, services });
    const lab = await startRouterLab({
      manifests: () => [manifests],
      agentsOn: [],
      log: createLog({ level: "error" }),
      progress: silent,
      signal,
    });
    ending.defer(() => lab.stop());

    const flags = [process.execPath, ...(await launcherFlags())];
    const options = ["--node", NODE, "--kubeconfig", lab.api.kubeconfig, "--frr-start", "--log-level", "warn"];
    await using agent = await Watched.start(lab.host(NODE), [...flags, lab.program, "agent", ...options]);
    await untilAllIsUp(lab, { vnis: 2 * vrfs, services });
    say(`${2 * vrfs} VNIs are up and ${services} services are announced`);
    await untilQuiet(lab, warmMs);

    const figures: Figures[] = [];
    for (let run = 0; run < runs; run++) {
      figures.push(await idle(lab, agent, flags, idleMs));
      const { writes, leases, chargedMs, share, rss, bareRss } = figures[run] as Figures;
      say(
        `${writes} writes (and ${leases} of Leases), ${chargedMs.toFixed(1)} ms of CPU a second charged, times ${share.toFixed(2)}, ${rss.toFixed(1)} MiB; bare ${bareRss.toFixed(1)}`,
      );
    }
    const measure = (what: string, goal: number, unit: string, ours: (figures: Figures) => number, peer: (figures: Figures) => number) =>
      compare({ bench: "footprint", what, goal, unit }, figures.map(ours), figures.map(peer));
    return [
      mustBeZero(
        { bench: "footprint", what: "status writes in a minute", unit: "writes" },
        figures.map(({ writes }) => writes),
        figures.map(() => 0),
      ),
      measure(
        "CPU for each second (the peer: 1 % of a core)",
        1,
        "ms",
        ({ chargedMs, share }) => chargedMs * share,
        () => ALLOWED_MS_PER_SECOND,
      ),
      measure(
        "RSS (the peer: bare node)",
        0.5,
        "MiB",
        ({ rss }) => rss,
        ({ bareRss }) => bareRss,
      ),
    ];
  },
});

interface Figures {
  readonly writes: number;
  readonly leases: number;
  /** For each second, as the machine inside counts it. */
  readonly chargedMs: number;
  /** The part of it in which this machine really let User-Mode Linux run. */
  readonly share: number;
  readonly rss: number;
  readonly bareRss: number;
}

async function idle(lab: RouterLab, agent: Watched, node: readonly string[], idleMs: number): Promise<Figures> {
  await using bare = await Watched.start(lab.host(NODE), [...node, "-e", "setInterval(() => {}, 1e6)"]);
  using written = new WriteCounter(await addressOf(lab));
  const share = await HostShare.begin(lab);
  const [before, begin] = [await agent.cpuMs(), performance.now()];
  await sleep(idleMs);
  const [after, end] = [await agent.cpuMs(), performance.now()];
  return {
    writes: written.statuses,
    leases: written.leases,
    chargedMs: ((after - before) / (end - begin)) * 1_000,
    share: await share.sinceThen(),
    rss: await agent.residentMiB(),
    bareRss: await bare.residentMiB(),
  };
}

/** Returns when the agent has written no status for so long, or after four times as long: then the figures show that it still writes. */
async function untilQuiet(lab: RouterLab, quietMs: number): Promise<void> {
  using written = new WriteCounter(await addressOf(lab));
  let [counted, since] = [written.statuses, performance.now()];
  for (const deadline = since + 4 * quietMs; performance.now() < Math.min(since + quietMs, deadline); await sleep(100)) {
    if (written.statuses !== counted) [counted, since] = [written.statuses, performance.now()];
  }
}

async function addressOf({ api }: RouterLab): Promise<string> {
  const { status } = await api.client.resource(Node).get(NODE, { signal });
  return status?.addresses?.[0]?.address ?? "";
}

async function untilAllIsUp({ api }: RouterLab, wanted: { vnis: number; services: number }): Promise<void> {
  const statuses = api.client.resource(RouterNodeConfigurationStatus);
  const deadline = performance.now() + READY_WITHIN_MS;
  while (performance.now() < deadline) {
    const found = await statuses.list({ signal, namespace: ROUTER_NAMESPACE });
    const status = found.items.find(({ metadata }) => metadata.name === NODE)?.status;
    const isTrue = (type: string) => status?.conditions?.some((condition) => condition.type === type && condition.status === "True");
    const up = status?.vnis?.filter(({ state }) => state === "Up").length;
    const { items: announced } = await api.client.resource(ServiceBGPStatus).list({ signal });
    const count = announced.filter(({ status }) => status?.node === NODE && status.bgpPeers?.length).length;
    if (isTrue("Ready") && isTrue("SessionsEstablished") && up === wanted.vnis && count === wanted.services) return;
    await sleep(500);
  }
  throw new Error(`not all VNIs are up and all services announced within ${READY_WITHIN_MS / 1000} s`);
}
