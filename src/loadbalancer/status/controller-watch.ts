import { Lease } from "../../api/core/lease.ts";
import type { Condition, Kind, KubeObject } from "../../api/kind.ts";
import { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import { ConfigurationStatus } from "../../api/metallb/configuration-status.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError, withTimeout } from "../../kube/client/error.ts";
import { sleep } from "../../util/sleep.ts";
import type { Runnable } from "../../kube/controller/controller.ts";
import type { Log } from "../../kube/log.ts";
import { statusCleanerMarks } from "../../kube/metrics.ts";
import { unknownConditions } from "../../kube/members/unknown-conditions.ts";
import { configurationStateName } from "./configuration-state.ts";
import { configurationStatusName } from "./configuration-status.ts";
import type { ConfigurationProblem } from "../reasons.ts";

export interface ControllerWatchOptions {
  client: KubeClient;
  log: Log;
  /** The name of the leader election Lease. */
  namespace: string;
  lease: string;
  metallbNamespace: string;
  /** The number of live agents before this one: later agents poll less often, so usually one agent marks and hundreds cost little. */
  agentsBefore: () => number;
  pollMs?: number;
  /** Twice the Lease duration: another replica had time to take over. */
  silenceMs?: number;
}

const LONGEST_POLL_MS = 300_000;
const REQUEST_MS = 10_000;

/**
 * Marks the controllers' reports Unknown when no controller has renewed the leader Lease for a full duration: only agents are left to do it. The next
 * leader writes its reports again. If there never was a Lease, there is no leader election.
 */
export function controllerWatch({ pollMs = 10_000, silenceMs = 30_000, ...options }: ControllerWatchOptions): Runnable {
  const { client, log, namespace, lease, agentsBefore } = options;
  return {
    name: "controller-watch",
    async run(signal) {
      let lastRenewal: { renewTime: string | undefined; at: number } | undefined;
      while (!signal.aborted) {
        try {
          const found = await withTimeout(REQUEST_MS, signal, (limited) => renewal(client, { name: lease, namespace }, limited));
          // A deleted Lease counts like one that is not renewed.
          if (found && found.renewTime !== lastRenewal?.renewTime) lastRenewal = { renewTime: found.renewTime, at: performance.now() };
          if (lastRenewal && performance.now() - lastRenewal.at >= silenceMs) {
            const { renewTime } = lastRenewal;
            await withTimeout(REQUEST_MS, signal, (limited) => markBoth(options, renewTime, limited));
          }
        } catch (error) {
          if (signal.aborted) return;
          // While the server is away no controller can renew.
          lastRenewal = undefined;
          log.debug({ error }, "cannot read the leader Lease");
        }
        const waitMs = Math.min(pollMs * (1 + agentsBefore()), LONGEST_POLL_MS);
        await sleep(waitMs * (0.9 + Math.random() * 0.2), signal).catch(() => {});
      }
    },
  };
}

async function renewal(
  client: KubeClient,
  { name, namespace }: { name: string; namespace: string },
  signal: AbortSignal,
): Promise<Lease["spec"] | undefined> {
  try {
    return (await client.resource(Lease).get(name, { namespace, signal })).spec;
  } catch (error) {
    if (isKubeError(error, "NotFound")) return undefined;
    throw error;
  }
}

async function markBoth(options: ControllerWatchOptions, since: string | undefined, signal: AbortSignal): Promise<void> {
  const message = `No controller has renewed Lease ${options.lease} since ${since ?? "it was created"}; the rest of this status is the last report`;
  const cause: ConfigurationProblem = { reason: "ControllerSilent", message };
  await mark(options, ConfigurationState, configurationStateName({ type: "controller" }), signal, (state) => {
    const conditions = unknownConditions(state.status?.conditions, ["Valid"], cause, new Date());
    return conditions && { result: "Unknown", conditions };
  });
  await mark(options, ConfigurationStatus, configurationStatusName, signal, (whole) => {
    const conditions = unknownConditions(whole.status?.conditions, ["Valid"], cause, new Date());
    return conditions && { validConfig: null, conditions };
  });
}

async function mark<T extends KubeObject>(
  { client, log, metallbNamespace: namespace }: ControllerWatchOptions,
  kind: Kind<T>,
  name: string,
  signal: AbortSignal,
  unknown: (object: T) => { conditions: Condition[] } | undefined,
): Promise<void> {
  const objects = client.resource(kind);
  try {
    const object = await objects.get(name, { namespace, signal });
    const status = unknown(object);
    if (!status) return;
    const { resourceVersion = "" } = object.metadata;
    await objects.patchStatus(object.metadata, { status }, { resourceVersion, signal });
    statusCleanerMarks.inc({ kind: kind.kind, action: "unknown" });
    log.warn({ kind: kind.kind, name }, "no controller leads: report marked Unknown");
  } catch (error) {
    // Another agent was first.
    if (!isKubeError(error, "NotFound", "Conflict")) throw error;
  }
}
