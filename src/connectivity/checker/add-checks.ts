import { randomBytes } from "node:crypto";
import { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { metaTime } from "../../api/time.ts";
import type { Cache } from "../../kube/cache/cache.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import type { Selection } from "../../kube/client/resource-client.ts";
import type { Manager } from "../../kube/controller/manager.ts";
import type { Log } from "../../kube/log.ts";
import { WriteBudget } from "../../kube/status/budget.ts";
import { StatusWriter } from "../../kube/status/status-writer.ts";
import { CheckJournal } from "../journal/journal.ts";
import { probe } from "../probe/probe.ts";
import type { RouterConnections } from "../probe/reach-from-router.ts";
import type { ProbeSchedulerOptions } from "../probe/scheduler.ts";
import { Checker, type CheckerOptions } from "./checker.ts";
import { STATUS_RULES } from "./status-rules.ts";
import { probeWithoutApi } from "./offline.ts";

export interface ChecksOptions extends Pick<CheckerOptions, "targetOf" | "events" | "allowed" | "intervalMs"> {
  probe?: ProbeSchedulerOptions["probe"];
  /** For checks from the router of this node. */
  router?: RouterConnections;
  manager: Manager;
  client: KubeClient;
  log: Log;
  name: string;
  selection: Selection;
  /** For results that are not yet in the API. */
  stateDirectory: string;
}

/** Ten refreshes per second are enough for six thousand checks at the longest checkpoint interval of ten minutes. */
export const LIMITS = {
  transition: { perSecond: 50, burst: 10, inFlight: 32 },
  refresh: { perSecond: 10, burst: 20, inFlight: 8 },
};

export interface Checks {
  readonly view: Cache<PodNetworkConnectivityCheck>;
  /** Continues with the known checks until the cluster is read, for managers that start nothing before that. */
  tryUntilRead(signal: AbortSignal, read: AbortSignal): Promise<void>;
}

export function addChecks({ manager, client, log, name, selection, stateDirectory, router, ...options }: ChecksOptions): Checks {
  const { allowed } = options;
  const from = router ? { router } : {};
  const tryOnce: ProbeSchedulerOptions["probe"] = (target, seq, signal, admit) => probe(target, seq, { signal, admit, allowed, ...from });
  const source = { probe: tryOnce, ...options };
  const checks = manager.lateCache(PodNetworkConnectivityCheck, {
    ...selection,
    // For checks of other sources, only whether there is a status.
    transform: ({ status, ...check }) => (status && source.targetOf(check) !== undefined ? { ...check, status } : check),
    log: awaitingKind(log),
  });
  const writer = new StatusWriter<PodNetworkConnectivityCheck>({
    kind: PodNetworkConnectivityCheck,
    client,
    cache: checks,
    budget: new WriteBudget(LIMITS),
    log,
    ...STATUS_RULES,
  });
  const claimant = { name: `${name}-${randomBytes(4).toString("hex")}`, started: metaTime(new Date()) };
  let opened: ReturnType<typeof CheckJournal.open> | undefined;
  let trying: Promise<void> | undefined;
  const open = () => (opened ??= CheckJournal.open(stateDirectory, { log }));
  manager.add(writer, { phase: "writers" });
  manager.add({
    name: "checks",
    async run(signal) {
      const { journal, recovered } = await open();
      await trying;
      try {
        await new Checker({ ...source, claimant, log, checks, writer, journal, recovered }).run(signal);
      } finally {
        await journal.close();
      }
    },
  });
  return {
    view: checks,
    async tryUntilRead(signal, read) {
      const { journal, recovered } = await open();
      if (read.aborted) return;
      await (trying = probeWithoutApi(recovered, { ...source, journal }, AbortSignal.any([signal, read])));
      if (!read.aborted) await journal.close();
    },
  };
}

/** Logs once that the CRD is not installed yet. */
function awaitingKind(log: Log): Pick<Log, "info" | "warn" | "error"> {
  let warned = false;
  const warn = (fields: { error?: unknown }, text: string): void => {
    if (!isKubeError(fields.error, "NotFound")) {
      log.warn(fields, text);
      return;
    }
    if (!warned) log.warn("CRD PodNetworkConnectivityCheck is not installed; waiting, apply the output of `plumbline crds`");
    warned = true;
  };
  return { info: log.info.bind(log), error: log.error.bind(log), warn: warn as Log["warn"] };
}
