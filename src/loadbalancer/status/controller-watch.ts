import { Lease } from "../../api/core/lease.ts";
import type { Condition, Kind, KubeObject } from "../../api/kind.ts";
import { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import { ConfigurationStatus } from "../../api/metallb/configuration-status.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import { pause } from "../../util/sleep.ts";
import type { Runnable } from "../../kube/controller/controller.ts";
import { within } from "../../kube/leader/within.ts";
import type { Log } from "../../kube/log.ts";
import { janitorMarks } from "../../kube/metrics.ts";
import { unknownConditions } from "../../kube/members/unknown-conditions.ts";
import { configurationStateName } from "./configuration-state.ts";
import { configurationStatusName } from "./configuration-status.ts";

export interface ControllerWatchOptions {
  client: KubeClient;
  log: Log;
  /** Of the Lease that controllers lead by. */
  namespace: string;
  lease: string;
  metallbNamespace: string;
  /** How many live agents come before this one: each looks less often than those before it, so that mostly one marks, and hundreds cost little. */
  agentsBefore: () => number;
  pollMs?: number;
  /** Twice what a leader's Lease lasts: another replica has had the time to take over. */
  silenceMs?: number;
}

const LONGEST_POLL_MS = 300_000;
const REQUEST_MS = 10_000;

/**
 * Marks what the controllers reported as Unknown once none of them has been seen to renew the leader's Lease for a full duration: nobody else is left to do
 * it. The controller that leads next writes its reports again. Where there was never a Lease, there is no election.
 */
export function controllerWatch({ pollMs = 10_000, silenceMs = 30_000, ...options }: ControllerWatchOptions): Runnable {
  const { client, log, namespace, lease, agentsBefore } = options;
  return {
    name: "controller-watch",
    async run(signal) {
      let seen: { renewTime: string | undefined; at: number } | undefined;
      while (!signal.aborted) {
        try {
          const found = await within(REQUEST_MS, signal, (limited) => renewal(client, { name: lease, namespace }, limited));
          // A Lease that was deleted says no more than one that is not renewed.
          if (found && found.renewTime !== seen?.renewTime) seen = { renewTime: found.renewTime, at: performance.now() };
          if (seen && performance.now() - seen.at >= silenceMs) {
            const { renewTime } = seen;
            await within(REQUEST_MS, signal, (limited) => markBoth(options, renewTime, limited));
          }
        } catch (error) {
          if (signal.aborted) return;
          // While the server is away no controller can renew.
          seen = undefined;
          log.debug({ error }, "could not find out whether a controller leads");
        }
        const waitMs = Math.min(pollMs * (1 + agentsBefore()), LONGEST_POLL_MS);
        await pause(waitMs * (0.9 + Math.random() * 0.2), signal).catch(() => {});
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
  const message = `No controller has renewed Lease ${options.lease} since ${since ?? "it was made"}; what else stands here is what the last one reported`;
  const words = { reason: "ControllerSilent", message };
  await mark(options, ConfigurationState, configurationStateName({ type: "controller" }), signal, (state) => {
    const conditions = unknownConditions(state.status?.conditions, ["Valid"], words, new Date());
    return conditions && { result: "Unknown", conditions };
  });
  await mark(options, ConfigurationStatus, configurationStatusName, signal, (whole) => {
    const conditions = unknownConditions(whole.status?.conditions, ["Valid"], words, new Date());
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
    janitorMarks.inc({ kind: kind.kind, action: "unknown" });
    log.warn({ kind: kind.kind, name }, "report of controllers that do not lead any more marked Unknown");
  } catch (error) {
    // Somebody else was first.
    if (!isKubeError(error, "NotFound", "Conflict")) throw error;
  }
}
