import { Node } from "../../api/core/node.ts";
import { Secret } from "../../api/core/secret.ts";
import { BFDProfile } from "../../api/metallb/bfd-profile.ts";
import { BGPAdvertisement } from "../../api/metallb/bgp-advertisement.ts";
import { BGPPeer } from "../../api/metallb/bgp-peer.ts";
import { Community } from "../../api/metallb/community.ts";
import { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import { L2Advertisement } from "../../api/metallb/l2-advertisement.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Manager } from "../../kube/controller/manager.ts";
import type { Log } from "../../kube/log.ts";
import { WebhookCertificates } from "../../kube/webhook/certificates.ts";
import { ValidatingWebhookConfiguration } from "../../kube/webhook/configuration.ts";
import { WebhookServer } from "../../kube/webhook/server.ts";
import { registerWebhooks } from "../../loadbalancer/webhooks.ts";
import { stripNodeStatus } from "./controller-components.ts";

const NAME = "plumbline-webhook";

/** The webhook runs on every replica, since the Service may pick any of them. */
export function addWebhooks(options: {
  manager: Manager;
  client: KubeClient;
  log: Log;
  namespace: string;
  metallbNamespace: string;
  host?: string;
  port: number;
}): void {
  const { manager, client, log, namespace, metallbNamespace, host, port } = options;
  const secret = { namespace, name: `${NAME}-cert` };
  const service = `${NAME}.${namespace}`;
  const certificates = new WebhookCertificates({
    client,
    secrets: manager.cache(Secret, { namespace, fieldSelector: `metadata.name=${secret.name}` }),
    configurations: manager.cache(ValidatingWebhookConfiguration, { fieldSelector: `metadata.name=${NAME}` }),
    secret,
    names: [`${service}.svc`, `${service}.svc.cluster.local`, ...(host === undefined ? [] : [host])],
    log,
  });
  const server = new WebhookServer({ port, certificates, log, ...(host === undefined ? {} : { host }) });
  manager.add(certificates);
  manager.add(server);
  manager.addCheck("webhook", () => server.assertListening());

  const here = { namespace: metallbNamespace };
  const sources = {
    pools: manager.cache(IPAddressPool, here),
    peers: manager.cache(BGPPeer, here),
    bfdProfiles: manager.cache(BFDProfile, here),
    bgpAdvertisements: manager.cache(BGPAdvertisement, here),
    l2Advertisements: manager.cache(L2Advertisement, here),
    communities: manager.cache(Community, here),
    nodes: manager.cache(Node, { transform: stripNodeStatus }),
  };
  registerWebhooks(server, sources, metallbNamespace);
}
