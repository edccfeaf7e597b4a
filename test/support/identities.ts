import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { Namespace } from "../../src/api/core/namespace.ts";
import { Node } from "../../src/api/core/node.ts";
import type { Kind, KubeObject } from "../../src/api/kind.ts";
import { type ClusterAccess, fixedAccess } from "../../src/kube/client/access.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { isKubeError } from "../../src/kube/client/error.ts";
import { clientRequests } from "../../src/kube/metrics.ts";

/** The kinds of the chart's identities, which nothing else of ours reads or writes. */
const PLURALS: Record<string, { plural: string; scope: "Cluster" | "Namespaced" }> = {
  ServiceAccount: { plural: "serviceaccounts", scope: "Namespaced" },
  ClusterRole: { plural: "clusterroles", scope: "Cluster" },
  ClusterRoleBinding: { plural: "clusterrolebindings", scope: "Cluster" },
  Role: { plural: "roles", scope: "Namespaced" },
  RoleBinding: { plural: "rolebindings", scope: "Namespaced" },
  ValidatingAdmissionPolicy: { plural: "validatingadmissionpolicies", scope: "Cluster" },
  ValidatingAdmissionPolicyBinding: { plural: "validatingadmissionpolicybindings", scope: "Cluster" },
};

const { signal } = new AbortController();
const OWN = "plumbline-system";
const NAMESPACES = [OWN, "openperouter-system", "metallb-system"];
const DEPLOY = join(import.meta.dirname, "../../deploy");

/** Gives the programs the rights that the chart gives them, and holds them to what its admission policies say. */
export async function installIdentities(admin: KubeClient): Promise<void> {
  for (const name of NAMESPACES) await createNamespace(admin, name);
  const folders = await Promise.all(
    ["rbac", "admission"].map(async (folder) =>
      (await readdir(join(DEPLOY, "chart/files", folder))).map((name) => `chart/files/${folder}/${name}`),
    ),
  );
  await Promise.all(folders.flat().map((path) => applyRights(admin, path)));
}

/** Applies a file of deploy/. */
export async function applyRights(admin: KubeClient, path: string): Promise<void> {
  for (const document of parseAllDocuments(await readFile(join(DEPLOY, path), "utf8"))) {
    const object = document.toJS() as KubeObject & { apiVersion: string; kind: string };
    const [version = "", group = ""] = object.apiVersion.split("/").toReversed();
    const kind: Kind = { group, version, kind: object.kind, ...(PLURALS[object.kind] ?? { plural: "", scope: "Cluster" }) };
    await admin.resource(kind).apply(object, { fieldManager: "test", signal });
  }
}

async function createNamespace(admin: KubeClient, name: string): Promise<void> {
  await admin
    .resource(Namespace)
    .create({ metadata: { name } }, { signal })
    .catch((error: unknown) => {
      if (!isKubeError(error, "AlreadyExists")) throw error;
    });
}

/** Who a program is: the controller, or the agent of a node, whose token says which node that is. */
export type Program = "controller" | { agentOf: string } | "agent of no node";

/** How this program speaks to the API server that the admin speaks to. */
export async function accessOf(admin: KubeClient, program: Program): Promise<ClusterAccess> {
  const account = program === "controller" ? "plumbline-controller" : "plumbline-agent";
  const bound: [Kind, string] | undefined = typeof program === "string" ? undefined : [Node, program.agentOf];
  const { ca } = await admin.access.identity();
  return fixedAccess(admin.access.server, { ca, token: await tokenOf(admin, [OWN, account], bound) });
}

/** A token of a service account, made for a Pod or Node as the kubelet asks for it, or for nothing. */
export async function tokenOf(admin: KubeClient, [namespace, account]: [string, string], bound?: [Kind, name: string]): Promise<string> {
  const spec = bound ? { boundObjectRef: await reference(admin, bound, namespace) } : {};
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec };
  const { status } = await admin.request<{ status: { token: string } }>("POST", path, { body, signal });
  return status.token;
}

async function reference(admin: KubeClient, [kind, name]: [Kind, string], namespace: string): Promise<object> {
  const object: KubeObject = await admin.resource(kind).get(name, { ...(kind.scope === "Namespaced" && { namespace }), signal });
  return { apiVersion: kind.version, kind: kind.kind, name, uid: object.metadata.uid };
}

/** How many requests of this process were forbidden so far. */
export async function refusals(): Promise<number> {
  const { values } = await clientRequests.get();
  return values.filter(({ labels }) => String(labels.code) === "403").reduce((sum, { value }) => sum + value, 0);
}
