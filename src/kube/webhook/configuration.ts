import { builtinKind, type Kind, type KubeObject } from "../../api/kind.ts";

/** Where and how API servers ask before they store an object. */
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

/** What is asked about: a kind, and on which writes. */
export interface WebhookRule {
  kind: Kind;
  operations: readonly Operation[];
}

/** Where API servers reach us: through the Service in a cluster, by URL elsewhere. */
export type WebhookEndpoint = { service: { namespace: string; name: string; port?: number } } | { url: string };

/** After this an API server goes on without an answer. Ours comes sooner, or says that it could not be had. */
export const TIMEOUT_SECONDS = 5;

/** `l3vnis.openpe.openperouter.github.io`, or `configmaps` in the core group. */
function resourceName({ plural, group }: Kind): string {
  return group === "" ? plural : `${plural}.${group}`;
}

export function pathOf(kind: Kind): string {
  return `/validate/${resourceName(kind)}`;
}

/**
 * The object that makes API servers ask. It never blocks what works: without an answer the write goes through, and the node checks everything
 * again. The caBundle is left to the certificates, which renew it.
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
      // Also asked about an object that is written in another version of its kind.
      matchPolicy: "Equivalent",
      sideEffects: "None",
      timeoutSeconds: TIMEOUT_SECONDS,
      admissionReviewVersions: ["v1"],
    })),
  };
}
