import { pathOf, resourceName, TIMEOUT_SECONDS, type ValidatingWebhookConfiguration, type WebhookRule } from "../webhook/configuration.ts";

/** The Service in a cluster, a URL elsewhere. */
type WebhookEndpoint = { service: { namespace: string; name: string; port?: number } } | { url: string };

/**
 * As the chart has it. It never blocks a valid write: without an answer the write succeeds, and the node validates again. The caBundle is set by the
 * certificates controller.
 */
export function webhookConfiguration(
  name: string,
  watched: readonly WebhookRule[],
  reach: WebhookEndpoint,
): ValidatingWebhookConfiguration {
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name },
    webhooks: watched.map(({ kind, operations }) => ({
      name: `${resourceName(kind)}.${kind.group === "" ? "core." : ""}plumbline.dev`,
      clientConfig: "url" in reach ? { url: `${reach.url}${pathOf(kind)}` } : { service: { ...reach.service, path: pathOf(kind) } },
      rules: [
        {
          apiGroups: [kind.group],
          apiVersions: [kind.version],
          operations: [...operations],
          resources: [kind.plural],
          scope: kind.scope,
        },
      ],
      failurePolicy: "Ignore",
      // Also for other versions of the kind.
      matchPolicy: "Equivalent",
      sideEffects: "None",
      timeoutSeconds: TIMEOUT_SECONDS,
      admissionReviewVersions: ["v1"],
    })),
  };
}
