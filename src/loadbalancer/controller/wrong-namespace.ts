import { BFDProfile } from "../../api/metallb/bfd-profile.ts";
import { BGPAdvertisement } from "../../api/metallb/bgp-advertisement.ts";
import { BGPPeer } from "../../api/metallb/bgp-peer.ts";
import { Community } from "../../api/metallb/community.ts";
import { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import { L2Advertisement } from "../../api/metallb/l2-advertisement.ts";
import { apiVersionOf, type Kind, type KubeObject } from "../../api/kind.ts";
import { Cache } from "../../kube/cache/cache.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Runnable } from "../../kube/controller/controller.ts";
import { aborted } from "../../util/time-limit.ts";
import type { EventRecorder } from "../../kube/events/events.ts";
import type { Log } from "../../kube/log.ts";
import { wrongNamespaceWarning } from "../config/warnings.ts";

interface Options {
  client: KubeClient;
  /** Where configuration counts. */
  metallbNamespace: string;
  events: Pick<EventRecorder, "record">;
  log: Log;
}

const KINDS = [IPAddressPool, BGPPeer, BFDProfile, BGPAdvertisement, L2Advertisement, Community] as readonly Kind[];

/**
 * Records a warning for configuration objects outside the load balancer's namespace. It lists only those objects, usually none; nothing else waits for the
 * list, which RBAC may deny.
 */
export function wrongNamespaceController({ client, metallbNamespace, events, log }: Options): Runnable {
  return {
    name: "objects in the wrong namespace",
    async run(signal) {
      for (const kind of KINDS) {
        const cache = new Cache(client, kind, { fieldSelector: `metadata.namespace!=${metallbNamespace}`, transform: nameOnly, log });
        cache.subscribe((change) => {
          if (change.type !== "added") return;
          const { name, namespace = "" } = change.object.metadata;
          const message = wrongNamespaceWarning({ kind: kind.kind, name, namespace }, metallbNamespace);
          events.record(
            { ...change.object, apiVersion: apiVersionOf(kind), kind: kind.kind },
            { type: "Warning", reason: "Ineffective", message },
          );
        });
        cache.start(signal);
      }
      await aborted(signal);
    },
  };
}

/** A BGPPeer may have a password in it. */
function nameOnly({ metadata: { name, namespace, uid, resourceVersion } }: KubeObject): KubeObject {
  return { metadata: JSON.parse(JSON.stringify({ name, namespace, uid, resourceVersion })) as KubeObject["metadata"] };
}
