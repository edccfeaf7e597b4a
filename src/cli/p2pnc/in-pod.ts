import { setFlagsFromString } from "node:v8";
import { join } from "node:path";
import { PodNetworkConnectivityCheck, sourceOf } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { probeAnnotation } from "../../api/annotations.ts";
import { type Target, parseProbedTarget } from "../../connectivity/probe/target.ts";
import { addChecks } from "../../connectivity/checker/add-checks.ts";
import { sourceLease } from "../../connectivity/source-lease.ts";
import type { Prefix } from "../../ip/prefix.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import { Manager } from "../../kube/controller/manager.ts";
import { EventRecorder } from "../../kube/events/events.ts";
import { createLog, type Log } from "../../kube/log.ts";
import { renewLease } from "../../kube/members/heartbeat.ts";
import { type ClusterOptions, connectToCluster } from "../shared/connection.ts";
import type { LogLevel } from "../shared/log-level.ts";
import { CliError, EXIT } from "../shared/exit.ts";
import type { RequestedProbe } from "./try-once.ts";
import type { Cache } from "../../kube/cache/cache.ts";
import type { Runnable } from "../../kube/controller/controller.ts";
import { aborted } from "../../util/deadline.ts";

export interface PodCheckOptions extends ClusterOptions {
  interval: number;
  allowTarget: readonly Prefix[];
  stateDir: string;
  healthAddress?: string;
  logLevel: LogLevel;
}

/**
 * It runs beside a pod and is nearly always idle: a smaller heap, and no compilers. As options at Node's start they would disable the code
 * cache.
 */
const FRUGAL = ["--optimize-for-size", "--no-sparkplug", "--no-maglev", "--no-turbofan"];
const LEASE = { durationMs: 180_000, renewMs: 60_000 };

/** Runs the pod's own checks, or those of `named`, until it is stopped. */
export async function checkInPod(named: ReadonlyMap<string, Target>, options: PodCheckOptions): Promise<void> {
  for (const flag of FRUGAL) setFlagsFromString(flag);
  const pod = ownPod();
  const { namespace } = pod;
  const log = createLog({ level: options.logLevel }).child({ pod: pod.name, namespace });
  const client = await connectToCluster(options);
  await mayRead(client, namespace);
  const manager = new Manager({ client, log, ...(options.healthAddress !== undefined && { healthAddress: options.healthAddress }) });
  const events = new EventRecorder({ client, component: "p2pnc", instance: pod.name, log });
  const ofPod = (check: PodNetworkConnectivityCheck) => (sourceOf(check) === pod.name ? check.spec.targetEndpoint : undefined);
  const { view: checks } = addChecks({
    manager,
    client,
    log,
    events,
    name: pod.name,
    selection: { namespace },
    targetOf: named.size > 0 ? ({ metadata }) => named.get(metadata.name)?.text : ofPod,
    stateDirectory: journalDirectory(pod, options.stateDir),
    allowed: options.allowTarget,
    intervalMs: options.interval,
  });
  manager.addCheck("checks", () => {
    if (!checks.synced) throw new Error("not yet read");
  });
  if (named.size > 0) manager.add(namedChecks({ checks, named, pod: pod.name, log }));
  manager.add(renewLease({ client, holder: pod.name, metadata: () => leaseOf(pod), log, ...LEASE }));
  manager.add(events, { phase: "writers" });
  await manager.run(new AbortController().signal);
}

/** Owned by the pod, so that the Lease is deleted with it. */
function leaseOf({ name, namespace, uid }: OwnPod) {
  const owner = uid === undefined ? {} : { ownerReferences: [{ apiVersion: "v1", kind: "Pod", name, uid }] };
  return { namespace, ...sourceLease(name), ...owner };
}

/** Throws at once what a retry does not fix: an untrusted certificate, a missing right. An unreachable server is not an error. */
async function mayRead(client: KubeClient, namespace: string): Promise<void> {
  try {
    await client
      .resource(PodNetworkConnectivityCheck)
      .pages({ namespace, limit: 1, signal: AbortSignal.timeout(10_000) })
      .next();
  } catch (error) {
    if (!isKubeError(error, "Unauthorized", "Forbidden")) return;
    client.close();
    throw error;
  }
}

interface OnceOptions extends ClusterOptions {
  allowTarget: readonly Prefix[];
  output: "json" | undefined;
}

/** Runs the pod's checks once and prints the results; writes nothing. */
export async function tryOwnChecks({ allowTarget, output, ...cluster }: OnceOptions): Promise<void> {
  const pod = ownPod();
  const client = await connectToCluster(cluster);
  const { items } = await client
    .resource(PodNetworkConnectivityCheck)
    .list({ namespace: pod.namespace, signal: AbortSignal.timeout(30_000) })
    .finally(() => client.close());
  const wanted = new Map<string, RequestedProbe>();
  for (const check of items) {
    const target = parseProbedTarget(check.spec.targetEndpoint, check.metadata.annotations?.[probeAnnotation]);
    const { name } = check.metadata;
    if (sourceOf(check) !== pod.name) continue;
    if ("problem" in target) throw new CliError(`Check ${name}: ${target.problem}`, EXIT.unknown);
    wanted.set(name, { target, check: name });
  }
  if (wanted.size === 0) {
    throw new CliError(`No PodNetworkConnectivityCheck of namespace ${pod.namespace} has pod ${pod.name} as its source`, EXIT.unknown);
  }
  const { tryOnce } = await import("./try-once.ts");
  await tryOnce(wanted, { allowed: allowTarget, output });
}

export interface OwnPod {
  readonly name: string;
  readonly namespace: string;
  readonly uid?: string;
}

/** From the downward API. */
function ownPod(): OwnPod {
  const { POD_NAME: name, POD_NAMESPACE: namespace, POD_UID: uid } = process.env;
  if (!name) throw missing("POD_NAME", "metadata.name");
  if (!namespace) throw missing("POD_NAMESPACE", "metadata.namespace");
  return { name, namespace, ...(uid && { uid }) };
}

/** Several pods of a node may share the state directory; each has its own journal. */
export function journalDirectory({ namespace, name }: OwnPod, stateDirectory: string): string {
  return join(stateDirectory, "connectivity", namespace, name);
}

function missing(variable: string, field: string): CliError {
  return new CliError(
    `${variable} is not set, so the checks of this pod cannot be found; set it from the downward API (fieldRef ${field}), or name targets: HOST:PORT`,
    EXIT.misuse,
  );
}

interface NamedChecksOptions {
  checks: Pick<Cache<PodNetworkConnectivityCheck>, "list" | "subscribe" | "waitForSync">;
  /** By the name of the check. */
  named: ReadonlyMap<string, Target>;
  pod: string;
  log: Log;
}

/** Logs where the checks named on the command line have another source or target. */
function namedChecks({ checks, named, pod, log }: NamedChecksOptions): Runnable {
  return {
    name: "named checks",
    async run(signal) {
      await checks.waitForSync(signal);
      const reported = new Set<string>();
      const missing = new Set(named.keys()).difference(new Set(checks.list().map(({ metadata }) => metadata.name)));
      for (const check of missing) log.warn({ check }, "the check does not exist; its target is tried once the check is created");
      const unsubscribe = checks.subscribe(({ type, object }) => {
        const problem = type === "deleted" ? undefined : problemOf(object, named, pod);
        if (!problem || reported.has(`${object.metadata.uid} ${problem.text}`)) return;
        reported.add(`${object.metadata.uid} ${problem.text}`);
        log.warn({ check: object.metadata.name, ...problem.fields }, problem.text);
      });
      await aborted(signal);
      unsubscribe();
    },
  };
}

function problemOf(check: PodNetworkConnectivityCheck, named: ReadonlyMap<string, Target>, pod: string) {
  const target = named.get(check.metadata.name)?.text;
  if (target === undefined) return undefined;
  const { targetEndpoint } = check.spec;
  if (targetEndpoint !== target)
    return {
      fields: { tried: target, spec: targetEndpoint },
      text: "the check has another target than the command line; using the command line",
    };
  const source = sourceOf(check);
  if (source !== pod)
    return {
      fields: { source },
      text: "the check is for another source; if that source probes it too, the process that started last reports it",
    };
  return undefined;
}
