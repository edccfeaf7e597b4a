import { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import type { Prefix } from "../../ip/prefix.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Selection } from "../../kube/client/resource-client.ts";
import type { Manager } from "../../kube/controller/manager.ts";
import type { EventRecorder } from "../../kube/events.ts";
import type { Log } from "../../kube/log.ts";
import { WriteBudget } from "../../kube/status/budget.ts";
import { StatusWriter } from "../../kube/status/status-writer.ts";
import { Journal } from "../journal/journal.ts";
import { CheckSource } from "./check-source.ts";
import { withFlipTime } from "./flip-time.ts";

export interface ChecksOptions {
  manager: Manager;
  client: KubeClient;
  log: Log;
  events: EventRecorder;
  /** Which checks are watched. */
  selection: Selection;
  /** What this source has to try for a check; undefined for the checks of others. */
  targetOf: (check: PodNetworkConnectivityCheck) => string | undefined;
  /** Where results are kept until the API has them. */
  stateDirectory: string;
  allowed: readonly Prefix[];
  intervalMs?: number;
}

/** Ten refreshes a second carry six thousand checks that are refreshed every ten minutes, the longest a check may be behind. */
const LIMITS = {
  transition: { perSecond: 50, burst: 10, inFlight: 32 },
  refresh: { perSecond: 10, burst: 20, inFlight: 8 },
};

/** The checks of this source, for as long as the manager runs. */
export function addChecks({ manager, client, log, events, selection, targetOf, stateDirectory, allowed, intervalMs }: ChecksOptions): void {
  const checks = manager.cache(PodNetworkConnectivityCheck, selection);
  const budget = new WriteBudget(LIMITS);
  const writer = new StatusWriter<PodNetworkConnectivityCheck>({
    kind: PodNetworkConnectivityCheck,
    client,
    cache: checks,
    budget,
    log,
    stamp: withFlipTime,
  });
  manager.add(writer, { stage: "writers" });
  manager.add({
    name: "checks",
    async run(signal) {
      const { journal, recovered } = await Journal.open(stateDirectory, { log });
      const interval = intervalMs === undefined ? {} : { intervalMs };
      try {
        await new CheckSource({ checks, targetOf, writer, events, journal, recovered, allowed, ...interval }).run(signal);
      } finally {
        await journal.close();
      }
    },
  });
}
