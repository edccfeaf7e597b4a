import { Secret } from "../api/core/secret.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Manager } from "../kube/controller/manager.ts";
import type { Log } from "../kube/log.ts";
import { WebhookCertificates } from "../kube/webhook/certificates.ts";
import { ValidatingWebhookConfiguration } from "../kube/webhook/configuration.ts";
import { WebhookServer } from "../kube/webhook/server.ts";

const NAME = "plumbline-webhook";

/** The webhook on every replica, leader or not: whoever the Service picks must answer. Domains register their validators with what is returned. */
export function addWebhooks(options: {
  manager: Manager;
  client: KubeClient;
  log: Log;
  namespace: string;
  host?: string;
  port: number;
}): WebhookServer {
  const { manager, client, log, namespace, host, port } = options;
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
  return server;
}
