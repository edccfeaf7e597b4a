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
import { agentLeaseName, componentLabel, nodeAnnotation, nodeLabel } from "./agent-lease.ts";

export interface HeartbeatOptions {
  client: KubeClient;
  namespace: string;
  node: string;
  /** The Node's uid once it is known; the Lease then goes with the Node. */
  nodeUid: () => string | undefined;
  log: Log;
  durationMs?: number;
  renewMs?: number;
}

/**
 * Renews the Lease of this node's agent for as long as the agent runs. It is not released at the end: an agent that comes back within the duration,
 * as in an upgrade, was never gone.
 */
export function heartbeat({ client, log, durationMs = 30_000, renewMs = 10_000, ...agent }: HeartbeatOptions): Runnable {
  const leases = client.resource(Lease);

  return {
    name: "heartbeat",
    async run(signal) {
      let held: Lease | undefined;
      let failures = 0;
      while (!signal.aborted) {
        try {
          held = await within(renewMs, signal, (limited) => beat(leases, agent, durationMs, held, limited));
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

type Agent = Pick<HeartbeatOptions, "namespace" | "node" | "nodeUid">;

/** `held` is the Lease as last written; without it, it is read first. */
async function beat(
  leases: ResourceClient<Lease>,
  agent: Agent,
  durationMs: number,
  held: Lease | undefined,
  signal: AbortSignal,
): Promise<Lease> {
  const found = held ?? (await existing(leases, agent, signal));
  const spec: Lease["spec"] = {
    ...found?.spec,
    holderIdentity: agent.node,
    leaseDurationSeconds: Math.ceil(durationMs / 1000),
    renewTime: microTime(new Date()),
  };
  const metadata = metadataOf(agent, found?.metadata);
  return found ? leases.replace({ ...found, metadata, spec }, { signal }) : leases.create({ metadata, spec }, { signal });
}

async function existing(leases: ResourceClient<Lease>, { namespace, node }: Agent, signal: AbortSignal): Promise<Lease | undefined> {
  try {
    return await leases.get(agentLeaseName(node), { namespace, signal });
  } catch (error) {
    if (isKubeError(error, "NotFound")) return undefined;
    throw error;
  }
}

function metadataOf({ namespace, node, nodeUid }: Agent, found: ObjectMeta | undefined): ObjectMeta {
  const uid = nodeUid();
  return {
    ...found,
    name: agentLeaseName(node),
    namespace,
    labels: { ...found?.labels, [componentLabel]: "agent", [nodeAnnotation]: nodeLabel(node) },
    annotations: { ...found?.annotations, [nodeAnnotation]: node },
    ...(uid === undefined ? {} : { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: node, uid }] }),
  };
}
