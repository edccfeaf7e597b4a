import type { Node } from "../../api/core/node.ts";
import { L2VNI } from "../../api/openpe/l2vni.ts";
import { L3Passthrough } from "../../api/openpe/l3passthrough.ts";
import { L3VNI } from "../../api/openpe/l3vni.ts";
import type { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import { Underlay } from "../../api/openpe/underlay.ts";
import type { Cache } from "../../kube/cache/cache.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Runnable } from "../../kube/controller/controller.ts";
import type { Log } from "../../kube/log.ts";
import type { WriteBudget } from "../../kube/status/budget.ts";
import { claimsRecorder, type Watched } from "../../resilience/claims-recorder.ts";
import { releasableClaims } from "./claim-release.ts";
import { type ClaimOwner, claimsOf } from "./claims.ts";

export interface RouterClaimsOptions {
  client: KubeClient;
  /** Only of the router's namespace. */
  underlays: Watched<Underlay>;
  l2vnis: Watched<L2VNI>;
  l3vnis: Watched<L3VNI>;
  passthroughs: Watched<L3Passthrough>;
  reports: Pick<Cache<RouterNodeConfigurationStatus>, "list" | "subscribe" | "waitForSync">;
  nodes: Pick<Cache<Node>, "list" | "subscribe" | "waitForSync">;
  budget: WriteBudget;
  log: Log;
}

export function routerClaims(options: RouterClaimsOptions): Runnable {
  const { underlays, l2vnis, l3vnis, passthroughs, reports, nodes, client, budget, log } = options;
  return claimsRecorder<ClaimOwner>({
    name: "claims",
    client,
    budget,
    log,
    objects: [
      { kind: Underlay, cache: underlays },
      { kind: L3VNI, cache: l3vnis },
      { kind: L2VNI, cache: l2vnis },
      { kind: L3Passthrough, cache: passthroughs },
    ],
    claimsOf: (owner) => claimsOf(owner, undefined),
    // A changed object may release values.
    releaseOn: [underlays, l3vnis, l2vnis, passthroughs, reports, nodes],
    releasable(owners, now) {
      const labeled = nodes.list().map(({ metadata }) => ({ name: metadata.name, labels: metadata.labels ?? {} }));
      const claimants = owners.filter(({ object }) => object.metadata.deletionTimestamp === undefined);
      return releasableClaims({ claimants, nodes: labeled, reports: reports.list(), now });
    },
  });
}
