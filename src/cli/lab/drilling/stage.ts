import type { Progress } from "../../../../lab/progress.ts";
import type { Log } from "../../../kube/log.ts";
import { labManifests, type RouterLab, startRouterLab } from "../router-lab.ts";

/** Not more often: the kernel says "no route to host" to the same source about once a second, and the next one in that second times out. */
const CHECK_INTERVAL = "3s";
/** Four of these missed, and an agent is silent. */
const HEARTBEAT = "2s";
const SILENCE_MS = 8_000;

/** The lab as it comes, only that it is sooner noticed there that someone fell silent. */
export function startDrillLab(options: { log: Log; progress: Progress; signal: AbortSignal }): Promise<RouterLab> {
  return startRouterLab({
    ...options,
    manifests: ({ routers }) => labManifests({ kube: false, routers, checks: true }),
    standIns: true,
    checkInterval: CHECK_INTERVAL,
    heartbeat: HEARTBEAT,
    silenceMs: SILENCE_MS,
  });
}
