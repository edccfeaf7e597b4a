import { join } from "node:path";
import type { Progress } from "../progress.ts";
import type { Log } from "../../src/kube/log.ts";
import { LAB_MANIFESTS, labManifests, type RouterLab, startRouterLab } from "../cli/router-lab.ts";

/** Not more often: the kernel says "no route to host" to the same source about once a second, and the next one in that second times out. */
const CHECK_INTERVAL = "3s";
/** Six of these missed, and an agent is silent. */
const HEARTBEAT = "2s";
const SILENCE_MS = 12_000;

/** Without routers the load balancers peer with the ToR. Not with BFD: its 900 ms are too short for a busy machine. */
function withoutRouters({ kube }: { kube: boolean }): string[] {
  const lab = join(LAB_MANIFESTS, "../");
  return [
    join(LAB_MANIFESTS, "loadbalancer/pools.yaml"),
    join(LAB_MANIFESTS, "loadbalancer/services.yaml"),
    kube ? join(lab, "kube/manifests/pods.yaml") : join(LAB_MANIFESTS, "loadbalancer/endpoints.yaml"),
    join(LAB_MANIFESTS, "connectivity"),
    join(lab, "drill/peer.yaml"),
  ];
}

interface DrillLabOptions {
  /** The real API server instead of the embedded one. */
  readonly kube: boolean;
  readonly routers: boolean;
  readonly log: Log;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** The lab as it comes, only that it is sooner noticed there that someone fell silent. Without routers it needs no kernel with VRF. */
export function startDrillLab({ routers, kube, ...options }: DrillLabOptions): Promise<RouterLab> {
  return startRouterLab({
    ...options,
    kube,
    ...(!routers && { kernel: "own" }),
    manifests: ({ directory }) => (routers ? labManifests({ kube, routers, checks: true, directory }) : withoutRouters({ kube })),
    standIns: true,
    checkInterval: CHECK_INTERVAL,
    heartbeat: HEARTBEAT,
    silenceMs: SILENCE_MS,
  });
}
