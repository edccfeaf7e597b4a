import { builtinKind, type Kind, type KubeObject } from "../../api/kind.ts";

export interface ValidatingWebhookConfiguration extends KubeObject {
  webhooks?: Webhook[];
}

interface Webhook {
  name: string;
  clientConfig: { url?: string; service?: { namespace: string; name: string; path?: string; port?: number }; caBundle?: string };
  rules: {
    apiGroups: string[];
    apiVersions: string[];
    operations: Operation[];
    resources: string[];
    scope: "Cluster" | "Namespaced" | "*";
  }[];
  failurePolicy: "Ignore" | "Fail";
  matchPolicy: "Exact" | "Equivalent";
  sideEffects: "None";
  timeoutSeconds: number;
  admissionReviewVersions: string[];
}

export const ValidatingWebhookConfiguration = builtinKind<ValidatingWebhookConfiguration>({
  group: "admissionregistration.k8s.io",
  version: "v1",
  kind: "ValidatingWebhookConfiguration",
  plural: "validatingwebhookconfigurations",
  scope: "Cluster",
});

export type Operation = "CREATE" | "UPDATE" | "DELETE";

export interface WebhookRule {
  kind: Kind;
  operations: readonly Operation[];
}

/** The Service in a cluster, a URL elsewhere. */
export type WebhookEndpoint = { service: { namespace: string; name: string; port?: number } } | { url: string };

/** The timeout of the API server; the own answer comes sooner. */
export const TIMEOUT_SECONDS = 5;

/** `l3vnis.openpe.openperouter.github.io`, or `configmaps` in the core group. */
function resourceName({ plural, group }: Kind): string {
  return group === "" ? plural : `${plural}.${group}`;
}

export function pathOf(kind: Kind): string {
  return `/validate/${resourceName(kind)}`;
}

/**
 * It never blocks a valid write: without an answer the write succeeds, and the node validates again. The caBundle is set by the
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
