import { type PodNetworkConnectivityCheck, sourceOf } from "../../api/connectivity/pod-network-connectivity-check.ts";
import type { Target } from "../../connectivity/probe/target.ts";
import type { Cache } from "../../kube/cache/cache.ts";
import type { Runnable } from "../../kube/controller/controller.ts";
import { aborted } from "../../util/time-limit.ts";
import type { Log } from "../../kube/log.ts";

interface NamedChecksOptions {
  checks: Pick<Cache<PodNetworkConnectivityCheck>, "list" | "subscribe" | "waitForSync">;
  /** By the name of the check. */
  named: ReadonlyMap<string, Target>;
  pod: string;
  log: Log;
}

/** Logs where the checks named on the command line have another source or target. */
export function namedChecks({ checks, named, pod, log }: NamedChecksOptions): Runnable {
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
    return { fields: { source }, text: "the check is for another source; where that makes it too, the one that began last has it" };
  return undefined;
}
