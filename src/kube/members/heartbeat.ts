import { componentLabel, nodeAnnotation, partsAnnotation, waitsForAnnotation, waitsSinceAnnotation } from "../../api/annotations.ts";
import { Lease } from "../../api/core/lease.ts";
import type { ObjectMeta } from "../../api/kind.ts";
import { metaTime, microTime } from "../../api/time.ts";
import { backoffMs } from "../../util/backoff.ts";
import type { KubeClient } from "../client/client.ts";
import { isKubeError, withTimeout } from "../client/error.ts";
import { sleep } from "../../util/sleep.ts";
import type { ResourceClient } from "../client/resource-client.ts";
import type { Runnable } from "../controller/controller.ts";
import type { Log } from "../log.ts";
import { heartbeats } from "../metrics.ts";
import { agentLeaseName, type AgentPart, nodeLabel, signingKeyAnnotations } from "./agent-lease.ts";

/** The timeout of a renewal, however long the interval is. */
const LONGEST_REQUEST_MS = 10_000;

export interface RenewLeaseOptions {
  client: KubeClient;
  holder: string;
  /** Name, namespace, and our labels, annotations and owners; called before each renewal. */
  metadata: (renewTime: string) => ObjectMeta;
  log: Log;
  durationMs: number;
  renewMs: number;
}

export interface LeaseHeartbeatOptions {
  client: KubeClient;
  namespace: string;
  node: string;
  /** The Node's uid once known; the Lease is then deleted with the Node. */
  nodeUid: () => string | undefined;
  /** The running parts: reports of others are removed. If unset, all, as with older agents. */
  parts?: readonly AgentPart[];
  /** The public signing key in base64. */
  signingKey?: string;
  log: Log;
  durationMs?: number;
  renewMs?: number;
}

export function heartbeat({ durationMs = 30_000, renewMs = 10_000, ...options }: LeaseHeartbeatOptions): Runnable {
  const { client, namespace, node, nodeUid, parts, signingKey, log } = options;
  const metadata = (renewTime: string): ObjectMeta => {
    const uid = nodeUid();
    return {
      ...agentLease(node, namespace, {
        ...(parts && { [partsAnnotation]: parts.join(",") }),
        ...(signingKey !== undefined && signingKeyAnnotations(signingKey, renewTime)),
      }),
      ...(uid === undefined ? {} : { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: node, uid }] }),
    };
  };
  return renewLease({ client, holder: node, metadata, log, durationMs, renewMs });
}

function agentLease(node: string, namespace: string, annotations: Record<string, string> = {}): ObjectMeta {
  return {
    name: agentLeaseName(node),
    namespace,
    labels: { [componentLabel]: "agent", [nodeAnnotation]: nodeLabel(node) },
    annotations: { [nodeAnnotation]: node, ...annotations },
  };
}

export interface WaitingOptions {
  client: KubeClient;
  namespace: string;
  node: string;
  unread: () => readonly string[];
  log: Log;
  everyMs?: number;
}

/**
 * Writes to the Lease of this node's agent which kinds it waits for, until the signal. Does not renew the Lease: an agent that does nothing
 * yet does not count as alive.
 */
export async function reportWaiting(
  { client, namespace, node, unread, log, everyMs = 5_000 }: WaitingOptions,
  signal: AbortSignal,
): Promise<void> {
  const leases = client.resource(Lease);
  const ours = agentLease(node, namespace);
  const since = metaTime(new Date());
  for (let written = ""; ;) {
    await sleep(everyMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    const kinds = unread().join(", ");
    if (kinds === "" || kinds === written) continue;
    try {
      await withTimeout(LONGEST_REQUEST_MS, signal, async (limited) => {
        const found = await existing(leases, ours, limited);
        const metadata = { ...found?.metadata, ...ours, ...together(found?.metadata, ours, { kinds, since }) };
        if (found) await leases.replace({ ...found, metadata }, { signal: limited });
        else await leases.create({ metadata, spec: { holderIdentity: node } }, { signal: limited });
      });
      written = kinds;
    } catch (error) {
      if (!signal.aborted) log.warn({ error }, "could not write the waiting state to the Lease");
    }
  }
}

/**
 * Renews a Lease while its holder runs. It is not released at the end: a holder that returns within the duration, as in an upgrade, was
 * never gone.
 */
export function renewLease({ client, log, renewMs, ...options }: RenewLeaseOptions): Runnable {
  const leases = client.resource(Lease);

  return {
    name: "heartbeat",
    async run(signal) {
      let written: Lease | undefined;
      let failures = 0;
      while (!signal.aborted) {
        try {
          written = await withTimeout(Math.min(renewMs, LONGEST_REQUEST_MS), signal, (limited) => beat(leases, options, written, limited));
          heartbeats.inc({ outcome: "ok" });
          if (failures > 0) log.info({ failures }, "heartbeat restored");
          failures = 0;
        } catch (error) {
          if (signal.aborted) return;
          // Also if it was edited or deleted, or the response to the last write was lost: the next attempt reads it first.
          written = undefined;
          failures += 1;
          heartbeats.inc({ outcome: isKubeError(error) ? error.code : "Unexpected" });
          log.warn({ error, failures }, "heartbeat failed, retrying");
        }
        // Never later than the interval: agents that stop together must expire together.
        const wait = failures === 0 ? renewMs * (0.8 + Math.random() * 0.2) : backoffMs(failures, { minMs: renewMs / 20, maxMs: renewMs });
        await sleep(wait, signal).catch(() => {});
      }
    },
  };
}

/** `written` is the last written Lease; without it, it is read first. */
async function beat(
  leases: ResourceClient<Lease>,
  { holder, metadata, durationMs }: Pick<RenewLeaseOptions, "holder" | "metadata" | "durationMs">,
  written: Lease | undefined,
  signal: AbortSignal,
): Promise<Lease> {
  const renewTime = microTime(new Date());
  const ours = metadata(renewTime);
  const found = written ?? (await existing(leases, ours, signal));
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
function together(
  found: ObjectMeta | undefined,
  ours: ObjectMeta,
  waiting?: { readonly kinds: string; readonly since: string },
): Pick<ObjectMeta, "labels" | "annotations"> {
  const annotations = { ...found?.annotations, ...ours.annotations };
  delete annotations[waitsForAnnotation];
  delete annotations[waitsSinceAnnotation];
  return {
    labels: { ...found?.labels, ...ours.labels },
    annotations: { ...annotations, ...(waiting && { [waitsForAnnotation]: waiting.kinds, [waitsSinceAnnotation]: waiting.since }) },
  };
}
