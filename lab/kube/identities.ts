import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseAllDocuments, stringify } from "yaml";
import { Namespace } from "../../src/api/core/namespace.ts";
import { Node } from "../../src/api/core/node.ts";
import { builtinKind, type Kind, type KubeObject } from "../../src/api/kind.ts";
import { fixedAccess } from "../../src/kube/testing/fixed-access.ts";
import type { ClusterAccess, Credential } from "../../src/kube/client/access.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { isKubeError } from "../../src/kube/client/error.ts";

/** Who the programs are in a cluster, by the very files that the chart installs. */

const RBAC = { group: "rbac.authorization.k8s.io", version: "v1" };
const ADMISSION = { group: "admissionregistration.k8s.io", version: "v1" };
const KINDS = [
  builtinKind({ group: "", version: "v1", kind: "ServiceAccount", plural: "serviceaccounts", scope: "Namespaced" }),
  builtinKind({ ...RBAC, kind: "ClusterRole", plural: "clusterroles", scope: "Cluster" }),
  builtinKind({ ...RBAC, kind: "ClusterRoleBinding", plural: "clusterrolebindings", scope: "Cluster" }),
  builtinKind({ ...RBAC, kind: "Role", plural: "roles", scope: "Namespaced" }),
  builtinKind({ ...RBAC, kind: "RoleBinding", plural: "rolebindings", scope: "Namespaced" }),
  builtinKind({ ...ADMISSION, kind: "ValidatingAdmissionPolicy", plural: "validatingadmissionpolicies", scope: "Cluster" }),
  builtinKind({ ...ADMISSION, kind: "ValidatingAdmissionPolicyBinding", plural: "validatingadmissionpolicybindings", scope: "Cluster" }),
];
const DEPLOY = join(import.meta.dirname, "../../deploy");
const FILES = join(DEPLOY, "chart/files");
const NAMESPACES = { own: "plumbline-system", routers: "openperouter-system", metallb: "metallb-system" };
type Namespaces = typeof NAMESPACES;
/** As long as anyone leaves a lab running. */
const EXPIRATION_SECONDS = 30 * 24 * 3600;

/**
 * Gives the programs the rights that they have by the chart, and holds them to what its admission policies say. Other namespaces than those by default take
 * their place, as they do in the chart, and may be many in one cluster.
 */
export async function installIdentities(admin: KubeClient, signal: AbortSignal, elsewhere: Partial<Namespaces> = {}): Promise<void> {
  const namespaces = { ...NAMESPACES, ...elsewhere };
  await Promise.all(Object.values(namespaces).map((name) => createNamespace(admin, name, signal)));
  const files = await Promise.all(
    ["rbac", "admission"].map(async (folder) => (await readdir(join(FILES, folder))).map((name) => join(FILES, folder, name))),
  );
  await Promise.all(
    files.flat().map(async (path) => {
      for (const object of documentsOf(moved(await readFile(path, "utf8"), namespaces))) {
        await applyIdentity(admin, elsewhere.own === undefined ? object : renamed(object, elsewhere.own), signal);
      }
    }),
  );
}

function moved(text: string, namespaces: Namespaces): string {
  return (Object.keys(NAMESPACES) as (keyof Namespaces)[]).reduce((all, key) => all.replaceAll(NAMESPACES[key], namespaces[key]), text);
}

/** What lives in no namespace and speaks of one has a name for each of them. */
function renamed(object: Manifest, own: string): Manifest {
  if (object.metadata.namespace !== undefined || object.kind === "ClusterRole") return object;
  const { policyName, ...spec } = (object as { spec?: { policyName?: string } }).spec ?? {};
  const metadata = { ...object.metadata, name: `${object.metadata.name}-${own}` };
  return {
    ...object,
    metadata,
    ...("spec" in object && { spec: { ...spec, ...(policyName !== undefined && { policyName: `${policyName}-${own}` }) } }),
  };
}

/** Applies a file of ServiceAccounts, roles, bindings and policies. */
export async function applyIdentities(admin: KubeClient, path: string, signal: AbortSignal): Promise<void> {
  for (const object of documentsOf(await readFile(path, "utf8"))) await applyIdentity(admin, object, signal);
}

/** Lets the controller read the Secret by which policies of this namespace know the other site, with the rights of deploy/failover/peer.yaml. */
export async function allowPeerSecret(admin: KubeClient, namespace: string, signal: AbortSignal): Promise<void> {
  const text = await readFile(join(DEPLOY, "failover/peer.yaml"), "utf8");
  for (const object of documentsOf(text.replaceAll(/\bshop\b/g, namespace))) {
    if (object.metadata.name === "failover-other-site") await applyIdentity(admin, object, signal);
  }
}

type Manifest = KubeObject & { kind: string };

function documentsOf(text: string): Manifest[] {
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest);
}

async function applyIdentity(admin: KubeClient, object: Manifest, signal: AbortSignal): Promise<void> {
  const kind = KINDS.find((known) => known.kind === object.kind);
  if (!kind) throw new TypeError(`A ${object.kind} is no part of an identity`);
  await admin.resource(kind).apply(object, { fieldManager: "plumbline-lab", force: true, signal });
}

async function createNamespace(admin: KubeClient, name: string, signal: AbortSignal): Promise<void> {
  await admin
    .resource(Namespace)
    .create({ metadata: { name } }, { signal })
    .catch((error: unknown) => {
      if (!isKubeError(error, "AlreadyExists")) throw error;
    });
}

/** A program with its identity at the API server. An agent's token names its node, unless a token without a node is wanted. */
export type Program = "controller" | { agentOf: string } | "agent of no node";

/** Speaks as this program where the admin speaks as an admin. Its token is asked for when it is first needed. */
export function accessAs(program: Program, admin: ClusterAccess, own = NAMESPACES.own): ClusterAccess {
  let identity: Promise<Credential> | undefined;
  return {
    ...fixedAccess(admin.server),
    identity(rejected) {
      if (rejected !== undefined) identity = undefined;
      // Not what failed once: the server may be away.
      identity ??= identityOf(program, admin, own).catch((error: unknown) => {
        identity = undefined;
        throw error;
      });
      return identity;
    },
  };
}

async function identityOf(program: Program, admin: ClusterAccess, own: string): Promise<Credential> {
  const client = new KubeClient(admin);
  try {
    const account = program === "controller" ? "plumbline-controller" : "plumbline-agent";
    const bound: [Kind, string] | undefined = typeof program === "string" ? undefined : [Node, program.agentOf];
    const token = await tokenOf(client, [own, account], bound, AbortSignal.timeout(30_000));
    return { ca: (await admin.identity()).ca, token };
  } finally {
    client.close();
  }
}

/** A token of a service account, bound to a Pod or Node as by a kubelet, or unbound. */
export async function tokenOf(
  admin: KubeClient,
  [namespace, account]: [string, string],
  bound: [Kind, name: string] | undefined,
  signal: AbortSignal,
): Promise<string> {
  const reference = bound && { boundObjectRef: await referenceTo(admin, bound, namespace, signal) };
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;
  const spec = { expirationSeconds: EXPIRATION_SECONDS, ...reference };
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec };
  const { status } = await admin.request<{ status: { token: string } }>("POST", path, { body, signal });
  return status.token;
}

async function referenceTo(admin: KubeClient, [kind, name]: [Kind, string], namespace: string, signal: AbortSignal): Promise<object> {
  const object: KubeObject = await admin.resource(kind).get(name, { ...(kind.scope === "Namespaced" && { namespace }), signal });
  return { apiVersion: kind.version, kind: kind.kind, name, uid: object.metadata.uid };
}

/** The access as the text of a kubeconfig, for a process. */
export async function kubeconfigOf(access: ClusterAccess): Promise<string> {
  const { ca = "", token } = await access.identity();
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "lab", cluster: { server: access.server, "certificate-authority-data": Buffer.from(ca).toString("base64") } }],
    users: [{ name: "program", user: { token } }],
    contexts: [{ name: "lab", context: { cluster: "lab", user: "program" } }],
    "current-context": "lab",
  });
}
