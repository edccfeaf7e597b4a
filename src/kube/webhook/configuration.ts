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

/** The timeout of the API server; the own answer comes sooner. */
export const TIMEOUT_SECONDS = 5;

/** `l3vnis.openpe.openperouter.github.io`, or `configmaps` in the core group. */
export function resourceName({ plural, group }: Kind): string {
  return group === "" ? plural : `${plural}.${group}`;
}

export function pathOf(kind: Kind): string {
  return `/validate/${resourceName(kind)}`;
}
