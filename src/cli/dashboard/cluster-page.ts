import type { AddressInfo } from "node:net";
import { Secret } from "../../api/core/secret.ts";
import type { ConfigNamespaces } from "../../explain/explainers.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Manager } from "../../kube/controller/manager.ts";
import type { Log } from "../../kube/log.ts";
import { WebhookCertificates } from "../../kube/webhook/certificates.ts";
import { DashboardServer } from "../../web/server/dashboard-server.ts";
import { TokenLogin } from "../../web/access/login.ts";
import { VERSION } from "../shared/version.ts";
import type { PageAddress } from "./page-address.ts";
import { pageCaches } from "./page-caches.ts";
import { pageFiles } from "./page-files.ts";

const NAME = "plumbline-page";
/** Access reviews have their own connections, so that they wait only for each other. */
const REVIEW_SOCKETS = 8;

/**
 * The page over TLS, for users whose token the API server accepts. Its certificate is made and renewed like the webhook's. Resolves once it
 * listens.
 */
export function addClusterPage(options: {
  manager: Manager;
  client: KubeClient;
  log: Log;
  namespace: string;
  namespaces: ConfigNamespaces;
  address: PageAddress;
}): Promise<AddressInfo> {
  const { manager, client, log, namespace, namespaces } = options;
  const { host, port } = options.address;
  const secret = { namespace, name: `${NAME}-cert` };
  const service = `${NAME}.${namespace}`;
  const certificates = new WebhookCertificates({
    client,
    // A late cache: the controller does not wait for what only the page needs.
    secrets: manager.lateCache(Secret, { namespace, fieldSelector: `metadata.name=${secret.name}` }),
    secret,
    // A forwarded port is opened as localhost.
    names: [`${service}.svc`, `${service}.svc.cluster.local`, "localhost", ...(host === undefined ? [] : [host])],
    log,
  });
  const page = new DashboardServer({
    caches: pageCaches(manager, namespaces),
    namespaces,
    authenticator: new TokenLogin(client.apart({ maxSockets: REVIEW_SOCKETS })),
    assets: pageFiles,
    version: VERSION,
    port,
    ...(host !== undefined && { host }),
    certificates,
    log,
  });
  manager.add(certificates);
  manager.add({
    name: page.name,
    run: (signal) =>
      page.run(signal).catch((error: unknown) => {
        log.error({ error }, "cannot serve the page; the controller continues without it");
      }),
  });
  return page.address;
}
