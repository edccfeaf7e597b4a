import { join } from "node:path";
import type { Progress } from "../../../../lab/progress.ts";
import type { Log } from "../../../kube/log.ts";
import { LAB_MANIFESTS, type RouterLab, startRouterLab } from "../router-lab.ts";

/** Not more often: the kernel says "no route to host" to the same source about once a second, and the next one in that second times out. */
const CHECK_INTERVAL = "3s";
/** Six of these missed, and an agent is silent. */
const HEARTBEAT = "2s";
const SILENCE_MS = 12_000;

/** Of a lab without routers, where the load balancers speak to the tor themselves. */
const WITHOUT_ROUTERS = [
  ...["pools", "services", "endpoints"].map((name) => join(LAB_MANIFESTS, `loadbalancer/${name}.yaml`)),
  join(LAB_MANIFESTS, "connectivity"),
  join(import.meta.dirname, "../../../../lab/drill/peer.yaml"),
];

interface StageOptions {
  readonly routers: boolean;
  readonly log: Log;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** The lab as it comes, only that it is sooner noticed there that someone fell silent. Without routers it needs no kernel with VRF. */
export function startDrillLab({ routers, ...options }: StageOptions): Promise<RouterLab> {
  return startRouterLab({
    ...options,
    ...(!routers && { kernel: "own" }),
    manifests: () => (routers ? [LAB_MANIFESTS] : WITHOUT_ROUTERS),
    standIns: true,
    checkInterval: CHECK_INTERVAL,
    heartbeat: HEARTBEAT,
    silenceMs: SILENCE_MS,
  });
}
