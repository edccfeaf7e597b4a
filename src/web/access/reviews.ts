import type { KubeClient } from "../../kube/client/client.ts";
import type { KindInNamespace } from "../rows/row-builder.ts";

export interface User {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

interface TokenReview {
  status?: { authenticated?: boolean; user?: User };
}

interface SubjectAccessReview {
  status?: { allowed?: boolean };
}

/** Undefined for an invalid or expired token. */
export async function reviewToken(client: KubeClient, token: string, signal: AbortSignal): Promise<User | undefined> {
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token } };
  const path = "/apis/authentication.k8s.io/v1/tokenreviews";
  const { status } = await client.request<TokenReview>("POST", path, { body, signal, repeatable: true });
  return status?.authenticated === true && status.user?.username ? withoutCredential(status.user) : undefined;
}

/** The token itself does not change the permissions, and would make a new user of each. */
function withoutCredential(user: User): User {
  if (!user.extra) return user;
  const extra = Object.entries(user.extra).filter(([key]) => key !== "authentication.kubernetes.io/credential-id");
  return { ...user, extra: Object.fromEntries(extra) };
}

export async function reviewAccess(
  client: KubeClient,
  user: User,
  { kind, namespace }: KindInNamespace,
  signal: AbortSignal,
): Promise<boolean> {
  const { username, uid, groups, extra } = user;
  const { group, version, plural: resource } = kind;
  const resourceAttributes = { verb: "list", group, version, resource, ...(namespace !== undefined && { namespace }) };
  const spec = { user: username, uid, groups, extra, resourceAttributes };
  const body = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec };
  const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
  const { status } = await client.request<SubjectAccessReview>("POST", path, { body, signal, repeatable: true });
  return status?.allowed === true;
}
