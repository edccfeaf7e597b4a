import { stringify } from "yaml";
import { FailoverPolicy } from "../../src/api/failover/failover-policy.ts";
import { builtinKind, type KubeObject } from "../../src/api/kind.ts";
import type { Site } from "./site.ts";

const IDENTITY = "failover-peer";
const EXPIRATION_SECONDS = 30 * 24 * 3600;
const RBAC = "rbac.authorization.k8s.io";
const ServiceAccount = builtinKind({ group: "", version: "v1", kind: "ServiceAccount", plural: "serviceaccounts", scope: "Namespaced" });
const Role = builtinKind({ group: RBAC, version: "v1", kind: "Role", plural: "roles", scope: "Namespaced" });
const RoleBinding = builtinKind({ group: RBAC, version: "v1", kind: "RoleBinding", plural: "rolebindings", scope: "Namespaced" });

/** A kubeconfig for the other site: it may read the policies of this namespace, and nothing else. */
export async function peerKubeconfig({ client, server, name: site }: Site, namespace: string, signal: AbortSignal): Promise<string> {
  const metadata = { name: IDENTITY, namespace };
  const rules = [{ apiGroups: [FailoverPolicy.group], resources: [FailoverPolicy.plural], verbs: ["get"] }];
  const subjects = [{ kind: "ServiceAccount", name: IDENTITY, namespace }];
  const roleRef = { apiGroup: RBAC, kind: "Role", name: IDENTITY };
  await client.resource(ServiceAccount).create({ metadata }, { signal });
  await client.resource(Role).create({ metadata, rules } as KubeObject, { signal });
  await client.resource(RoleBinding).create({ metadata, subjects, roleRef } as KubeObject, { signal });
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${IDENTITY}/token`;
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: EXPIRATION_SECONDS } };
  const { status } = await client.request<{ status: { token: string } }>("POST", path, { body, signal });
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: site, cluster: { server: server.url, "certificate-authority-data": Buffer.from(server.caPem).toString("base64") } }],
    users: [{ name: IDENTITY, user: { token: status.token } }],
    contexts: [{ name: site, context: { cluster: site, user: IDENTITY } }],
    "current-context": site,
  });
}
