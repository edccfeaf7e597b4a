import { X509Certificate } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { Secret } from "../../api/core/secret.ts";
import type { Cache } from "../cache/cache.ts";
import type { KubeClient } from "../client/client.ts";
import { isKubeError } from "../client/error.ts";
import { controller, type Controller, type Result, type Runnable } from "../controller/controller.ts";
import { ChannelSource, changesOf } from "../controller/source.ts";
import type { Log } from "../log.ts";
import { webhookCertificateExpiry } from "../metrics.ts";
import type { CertificatePair } from "../x509.ts";
import { ValidatingWebhookConfiguration } from "./configuration.ts";
import { bundleOf, fromSecret, LIFETIMES, nextRenewal, renew, toSecretData, type Credentials, type Lifetimes } from "./credentials.ts";

export interface WebhookCertificatesOptions {
  client: KubeClient;
  secrets: Cache<Secret>;
  /** Whose caBundle is ours; none if only people connect. */
  configurations?: Cache<ValidatingWebhookConfiguration>;
  secret: { namespace: string; name: string };
  /** DNS names and addresses that API servers use. */
  names: readonly string[];
  log: Log;
  lifetimes?: Lifetimes;
}

/**
 * CA and serving certificate of the webhook, in a Secret so that all replicas share them, renewed in time. A new CA is published long
 * before it signs anything, so that no handshake fails.
 */
export class WebhookCertificates implements Runnable {
  readonly name = "webhook certificates";
  readonly #options: WebhookCertificatesOptions;
  readonly #controller: Controller;
  readonly #listeners = new Set<(serving: CertificatePair) => void>();
  #serving: CertificatePair | undefined;

  constructor(options: WebhookCertificatesOptions) {
    this.#options = options;
    const { secrets, configurations, log } = options;
    const start = new ChannelSource();
    start.ring("certificates");
    this.#controller = controller("webhook-certificates", {
      watches: [
        start,
        changesOf(secrets, () => ["certificates"]),
        ...(configurations ? [changesOf(configurations, () => ["certificates"])] : []),
      ],
      reconcile: (_key, { signal }) => this.#reconcile(signal).catch(yieldToOthers),
      log,
    });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#controller.run(signal);
  }

  /** Called with the current pair, if known, and whenever it changes. */
  subscribe(listener: (serving: CertificatePair) => void): () => void {
    this.#listeners.add(listener);
    if (this.#serving) listener(this.#serving);
    return () => this.#listeners.delete(listener);
  }

  async #reconcile(signal: AbortSignal): Promise<Result> {
    const { secrets, secret, names, lifetimes = LIFETIMES } = this.#options;
    const stored = secrets.get(`${secret.namespace}/${secret.name}`);
    const existing = stored && fromSecret(stored);
    const credentials = renew(existing, names, lifetimes, new Date());
    if (credentials !== existing) await this.#store(credentials, stored, signal);

    // The first certificate cannot break a handshake; any other waits until the API servers trust its CA.
    if (!this.#serving) this.#serve(credentials.serving);
    await this.#trust(credentials, signal);
    this.#serve(credentials.serving);
    return { requeueAfter: Math.max(0, nextRenewal(credentials).getTime() - Date.now()) };
  }

  async #store(credentials: Credentials, stored: Secret | undefined, signal: AbortSignal): Promise<void> {
    const { client, secret, log } = this.#options;
    const data = toSecretData(credentials);
    if (stored) await client.resource(Secret).replace({ ...stored, data }, { signal });
    else await client.resource(Secret).create({ metadata: { ...secret }, type: "kubernetes.io/tls", data }, { signal });
    log.info({ secret: secret.name, authorities: credentials.authorities.length }, "webhook certificate renewed");
  }

  async #trust(credentials: Credentials, signal: AbortSignal): Promise<void> {
    const { client, configurations } = this.#options;
    const caBundle = Buffer.from(bundleOf(credentials)).toString("base64");
    for (const { metadata, webhooks = [] } of configurations?.list() ?? []) {
      const trusting = webhooks.map((webhook) => ({ ...webhook, clientConfig: { ...webhook.clientConfig, caBundle } }));
      if (isDeepStrictEqual(trusting, webhooks)) continue;
      const { name, resourceVersion = "" } = metadata;
      await client.resource(ValidatingWebhookConfiguration).patch({ name }, { webhooks: trusting }, { resourceVersion, signal });
    }
  }

  #serve(serving: CertificatePair): void {
    if (isDeepStrictEqual(serving, this.#serving)) return;
    this.#serving = serving;
    if (this.#options.configurations) webhookCertificateExpiry.set(new X509Certificate(serving.certificate).validToDate.getTime() / 1000);
    for (const listener of this.#listeners) listener(serving);
  }
}

/** Another replica was faster; its result will arrive in the cache. */
function yieldToOthers(error: unknown): Result {
  if (!isKubeError(error, "Conflict", "AlreadyExists")) throw error;
  return { requeueAfter: 1000 };
}
