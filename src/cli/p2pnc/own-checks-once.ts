import { PodNetworkConnectivityCheck, sourceOf } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { parseTarget } from "../../connectivity/probe/target.ts";
import type { Prefix } from "../../ip/prefix.ts";
import { type ClusterOptions, connectToCluster } from "../shared/connection.ts";
import { CliError, EXIT } from "../shared/exit.ts";
import { ownPod } from "./own-pod.ts";
import { tryOnce, type RequestedProbe } from "./try-once.ts";

interface OnceOptions extends ClusterOptions {
  allowTarget: readonly Prefix[];
  output: "json" | undefined;
}

/** The checks of this pod, tried once and printed; nothing is written. */
export async function tryOwnChecks({ allowTarget, output, ...cluster }: OnceOptions): Promise<void> {
  const pod = ownPod();
  const client = await connectToCluster(cluster);
  const { items } = await client
    .resource(PodNetworkConnectivityCheck)
    .list({ namespace: pod.namespace, signal: AbortSignal.timeout(30_000) })
    .finally(() => client.close());
  const wanted = new Map<string, RequestedProbe>();
  for (const check of items) {
    const target = parseTarget(check.spec.targetEndpoint);
    const { name } = check.metadata;
    if (sourceOf(check) !== pod.name) continue;
    if ("problem" in target) throw new CliError(`Check ${name}: ${target.problem}`, EXIT.unknown);
    wanted.set(name, { target, check: name });
  }
  if (wanted.size === 0) {
    throw new CliError(`No PodNetworkConnectivityCheck of namespace ${pod.namespace} has pod ${pod.name} as its source`, EXIT.unknown);
  }
  await tryOnce(wanted, { allowed: allowTarget, output });
}
