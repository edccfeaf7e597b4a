import { Lease } from "../../api/core/lease.ts";
import type { ObjectMeta } from "../../api/kind.ts";
import { microTime } from "../../api/time.ts";
import { backoffMs } from "../backoff.ts";
import type { KubeClient } from "../client/client.ts";
import { isKubeError } from "../client/error.ts";
import { pause } from "../client/pause.ts";
import type { ResourceClient } from "../client/resource-client.ts";
import type { Runnable } from "../controller/controller.ts";
import { within } from "../leader/within.ts";
import type { Log } from "../log.ts";
import { heartbeats } from "../metrics.ts";
import { agentLeaseName, componentLabel, nodeAnnotation, nodeLabel, signingKeyAnnotations } from "./agent-lease.ts";

/** A request that takes longer than this is given up, however seldom the Lease is renewed. */
const LONGEST_REQUEST_MS = 10_000;

export interface LeaseBeatOptions {
  client: KubeClient;
  holder: string;
  /** Name, namespace, and what of labels, annotations and owners is ours; asked before each renewal. */
  metadata: (renewTime: string) => ObjectMeta;
  log: Log;
  durationMs: number;
  renewMs: number;
}

export interface HeartbeatOptions {
  client: KubeClient;
  namespace: string;
  node: string;
  /** The Node's uid once it is known; the Lease then goes with the Node. */
  nodeUid: () => string | undefined;
  /** The public key with which the agent signs, as base64. */
  signingKey?: string;
  log: Log;
  durationMs?: number;
  renewMs?: number;
}

/** Renews the Lease of this node's agent. */
export function heartbeat({ client, namespace, node, nodeUid, signingKey, log, ...options }: HeartbeatOptions): Runnable {
  const { durationMs = 30_000, renewMs = 10_000 } = options;
  const metadata = (renewTime: string): ObjectMeta => {
    const uid = nodeUid();
    return {
      name: agentLeaseName(node),
      namespace,
      labels: { [componentLabel]: "agent", [nodeAnnotation]: nodeLabel(node) },
      annotations: { [nodeAnnotation]: node, ...(signingKey !== undefined && signingKeyAnnotations(signingKey, renewTime)) },
      ...(uid === undefined ? {} : { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: node, uid }] }),
    };
  };
  return leaseBeat({ client, holder: node, metadata, log, durationMs, renewMs });
}

/**
 * Renews a Lease for as long as its holder runs. It is not released at the end: a holder that comes back within the duration, as in an upgrade,
 * was never gone.
 */
export function leaseBeat({ client, log, renewMs, ...options }: LeaseBeatOptions): Runnable {
  const leases = client.resource(Lease);

  return {
    name: "heartbeat",
    async run(signal) {
      let held: Lease | undefined;
      let failures = 0;
      while (!signal.aborted) {
        try {
          held = await within(Math.min(renewMs, LONGEST_REQUEST_MS), signal, (limited) => beat(leases, options, held, limited));
          heartbeats.inc({ outcome: "ok" });
          if (failures > 0) log.info({ failures }, "heartbeat is back");
          failures = 0;
        } catch (error) {
          if (signal.aborted) return;
          // Also when someone edited or deleted it, or our own last write arrived without its answer: the next attempt reads it first.
          held = undefined;
          failures += 1;
          heartbeats.inc({ outcome: isKubeError(error) ? error.code : "Unexpected" });
          log.warn({ error, failures }, "heartbeat failed, trying again");
        }
        // Never later than the interval: who fell silent together must also expire together.
        const wait = failures === 0 ? renewMs * (0.8 + Math.random() * 0.2) : backoffMs(failures, { minMs: renewMs / 20, maxMs: renewMs });
        await pause(wait, signal).catch(() => {});
      }
    },
  };
}

/** `held` is the Lease as last written; without it, it is read first. */
async function beat(
  leases: ResourceClient<Lease>,
  { holder, metadata, durationMs }: Pick<LeaseBeatOptions, "holder" | "metadata" | "durationMs">,
  held: Lease | undefined,
  signal: AbortSignal,
): Promise<Lease> {
  const renewTime = microTime(new Date());
  const ours = metadata(renewTime);
  const found = held ?? (await existing(leases, ours, signal));
  const spec: Lease["spec"] = {
    ...found?.spec,
    holderIdentity: holder,
    leaseDurationSeconds: Math.ceil(durationMs / 1000),
    renewTime,
  };
  const whole = { ...found?.metadata, ...ours, ...together(found?.metadata, ours) };
  return found ? leases.replace({ ...found, metadata: whole, spec }, { signal }) : leases.create({ metadata: whole, spec }, { signal });
}

async function existing(leases: ResourceClient<Lease>, { name, namespace }: ObjectMeta, signal: AbortSignal): Promise<Lease | undefined> {
  try {
    return await leases.get(name, { ...(namespace !== undefined && { namespace }), signal });
  } catch (error) {
    if (isKubeError(error, "NotFound")) return undefined;
    throw error;
  }
}

/** Labels and annotations of others stay. */
function together(found: ObjectMeta | undefined, ours: ObjectMeta): Pick<ObjectMeta, "labels" | "annotations"> {
  return { labels: { ...found?.labels, ...ours.labels }, annotations: { ...found?.annotations, ...ours.annotations } };
}
