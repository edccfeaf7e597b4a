import { ConfigMap } from "../api/core/config-map.ts";
import type { RouterNodeConfigurationStatus } from "../api/openpe/router-node-configuration-status.ts";
import type { Cache } from "../kube/cache/cache.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { controller, type Runnable } from "../kube/controller/controller.ts";
import { changesOf } from "../kube/controller/source.ts";
import type { Log } from "../kube/log.ts";
import { membersName, parseMembers } from "../kube/members/members.ts";
import { type OverlayMap, type OverlayNode, printOverlayMap } from "./probes/overlay-map.ts";

export interface OverlayPublisherOptions {
  client: KubeClient;
  namespace: string;
  reports: Pick<Cache<RouterNodeConfigurationStatus>, "list" | "subscribe" | "waitForSync">;
  members: Pick<Cache<ConfigMap>, "get" | "list" | "subscribe" | "waitForSync">;
  log: Log;
}

/** Nodes of one rollout report within seconds: one write for all of them. */
const COLLECT_MS = 1_000;

/** Publishes beside the members which nodes have which VNIs applied, and their VTEPs, so that agents know whom to probe and what to expect. */
export function overlayPublisher({ client, namespace, reports, members, log }: OverlayPublisherOptions): Runnable {
  const key = `${namespace}/${membersName}`;
  let writtenAt = -Infinity;
  return controller("overlay", {
    watches: [changesOf(reports, () => [key]), changesOf(members, () => [key])],
    log,
    async reconcile(_key, { signal }) {
      const stored = members.get(key);
      if (!stored) return undefined;
      const next = printOverlayMap(overlayOf(reports.list(), parseMembers(stored).indexes));
      if (Object.entries(next).every(([field, text]) => stored.data?.[field] === text)) return undefined;
      const waitMs = writtenAt + COLLECT_MS - performance.now();
      if (waitMs > 0) return { requeueAfter: waitMs };
      await client.resource(ConfigMap).replace({ ...stored, data: { ...stored.data, ...next } }, { signal });
      writtenAt = performance.now();
      return undefined;
    },
  });
}

/** Also VNIs that are down, and nodes whose agent does not report: whoever probes them says whether they work. */
function overlayOf(reports: readonly RouterNodeConfigurationStatus[], indexes: Readonly<Record<string, { index: number }>>): OverlayMap {
  const nodes = new Map<string, OverlayNode>();
  for (const { metadata, status } of reports) {
    const index = indexes[metadata.name]?.index;
    const vtep = status?.overlay?.vtep;
    if (index === undefined || vtep === undefined) continue;
    const of = (type: "L2" | "L3") =>
      (status?.vnis ?? [])
        .filter((one) => one.type === type)
        .map(({ vni }) => vni)
        .sort((a, b) => a - b);
    nodes.set(metadata.name, { index, vtep, l2: of("L2"), l3: of("L3") });
  }
  return { nodes };
}
