import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import type { Kind, KubeObject } from "../../src/api/kind.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { clientRequests } from "../../src/kube/metrics.ts";

/** The kinds of deploy/rbac, which nothing else of ours reads or writes. */
const PLURALS: Record<string, { plural: string; scope: "Cluster" | "Namespaced" }> = {
  ServiceAccount: { plural: "serviceaccounts", scope: "Namespaced" },
  ClusterRole: { plural: "clusterroles", scope: "Cluster" },
  ClusterRoleBinding: { plural: "clusterrolebindings", scope: "Cluster" },
  Role: { plural: "roles", scope: "Namespaced" },
  RoleBinding: { plural: "rolebindings", scope: "Namespaced" },
  ValidatingAdmissionPolicy: { plural: "validatingadmissionpolicies", scope: "Cluster" },
  ValidatingAdmissionPolicyBinding: { plural: "validatingadmissionpolicybindings", scope: "Cluster" },
};

/** Applies files of deploy/rbac. */
export async function applyRights(client: KubeClient, names: readonly string[], signal: AbortSignal): Promise<void> {
  for (const name of names) {
    const text = await readFile(join(import.meta.dirname, `../../deploy/rbac/${name}.yaml`), "utf8");
    for (const document of parseAllDocuments(text)) {
      const object = document.toJS() as KubeObject & { apiVersion: string; kind: string };
      const [version = "", group = ""] = object.apiVersion.split("/").toReversed();
      const kind: Kind = { group, version, kind: object.kind, ...(PLURALS[object.kind] ?? { plural: "", scope: "Cluster" }) };
      await client.resource(kind).apply(object, { fieldManager: "test", signal });
    }
  }
}

/** How many requests of this process were forbidden so far. */
export async function refusals(): Promise<number> {
  const { values } = await clientRequests.get();
  return values.filter(({ labels }) => String(labels.code) === "403").reduce((sum, { value }) => sum + value, 0);
}
