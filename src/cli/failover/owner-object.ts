import type { Kind, KubeObject } from "../../api/kind.ts";
import type { Application, Automated, FluxObject } from "../../failover/observe/external-kinds.ts";
import { type Owner, titleOf } from "../../failover/policy/owners.ts";
import type { ServedKinds } from "../../failover/observe/served-kinds.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import { sleep } from "../../util/sleep.ts";
import { printError } from "../../kube/printable.ts";
import { CliError, EXIT } from "../shared/exit.ts";

export interface ReadOwner {
  readonly owner: Owner;
  readonly kind?: Kind;
  readonly object?: KubeObject;
  readonly error?: string;
}

/** With the earlier value of `spec.suspend` or `spec.syncPolicy.automated`. */
export interface SuspendedOwner {
  readonly kind: "Kustomization" | "HelmRelease" | "Application";
  readonly namespace: string;
  readonly name: string;
  readonly automated?: Automated;
}

interface FluxOwner extends FluxObject {
  spec: FluxObject["spec"] & { interval?: string; driftDetection?: { mode?: string } };
}

const PLURAL = {
  Kustomization: "kustomizations.kustomize.toolkit.fluxcd.io",
  HelmRelease: "helmreleases.helm.toolkit.fluxcd.io",
  Application: "applications.argoproj.io",
};
const REFRESH = "argocd.argoproj.io/refresh";
const QUIET_MS = 60_000;
const POLL_MS = 500;

/** The tracking label of an Application may not contain its namespace: all namespaces are searched. */
export async function readOwner(client: KubeClient, served: ServedKinds, owner: Owner, signal: AbortSignal): Promise<ReadOwner> {
  if (owner.kind === "Helm") return { owner };
  const result = served.lookup(owner.kind);
  if (!("found" in result)) return { owner, error: "error" in result ? result.error : `the cluster does not serve kind ${owner.kind}` };
  const { namespace, name } = owner;
  const kind = result.found;
  try {
    if (namespace !== undefined) return { owner, kind, object: await client.resource(kind).get(name, { namespace, signal }) };
    const { items } = await client.resource(kind).list({ signal });
    const [object, another] = items.filter(({ metadata }) => metadata.name === name);
    if (!object || another) return { owner, kind, error: object ? "several have this name" : "it does not exist in this cluster" };
    return { owner: { ...owner, namespace: object.metadata.namespace ?? "" }, kind, object };
  } catch (error) {
    if (!isKubeError(error)) throw error;
    return { owner, kind, error: error.message };
  }
}

/** Undefined if it reverts only after a person acts. */
export function whenItReverts({ owner, object, error }: ReadOwner): string | undefined {
  if (!object) return `at an unknown time (${error})`;
  if (isSuspended({ owner, object })) return undefined;
  if (owner.kind === "Application") {
    return (object as Application).spec.syncPolicy?.automated?.selfHeal ? "within seconds (selfHeal)" : "with the next commit";
  }
  const { interval = "an unknown length", driftDetection } = (object as FluxOwner).spec;
  const applies = owner.kind === "Kustomization" || driftDetection?.mode === "enabled";
  return applies ? `within its interval of ${interval}` : "with the next upgrade of its release";
}

export function isSuspended({ owner, object }: Pick<ReadOwner, "owner" | "object">): boolean {
  if (!object) return false;
  if (owner.kind !== "Application") return (object as FluxOwner).spec.suspend === true;
  const automated = (object as Application).spec.syncPolicy?.automated;
  return !automated || automated.enabled === false;
}

/** Returns once it is suspended and idle: a sync that began before could still write the old role. */
export async function suspendOwner(
  client: KubeClient,
  { owner, kind, object, error }: ReadOwner,
  signal: AbortSignal,
): Promise<SuspendedOwner> {
  if (!kind || !object || owner.kind === "Helm") {
    throw new CliError(`${titleOf(owner)} cannot be suspended; nothing was changed: ${error}`, EXIT.no);
  }
  const { namespace = "", name, resourceVersion = "" } = object.metadata;
  const objects = client.resource(kind);
  const done = { kind: owner.kind, namespace, name };
  if (owner.kind !== "Application") {
    await objects.patch({ namespace, name }, { spec: { suspend: true } }, { resourceVersion, signal });
    await untilQuiet(client, kind, done, signal);
    return done;
  }
  const automated = (object as Application).spec.syncPolicy?.automated ?? {};
  const off = await objects.patch({ namespace, name }, automatedPatch({ enabled: false }), { resourceVersion, signal });
  if (!isSuspended({ owner, object: off })) await objects.patch({ namespace, name }, automatedPatch(null), { signal });
  await untilQuiet(client, kind, done, signal);
  return { ...done, automated };
}

function automatedPatch(automated: object | null): object {
  return { metadata: { annotations: { [REFRESH]: "normal" } }, spec: { syncPolicy: { automated } } };
}

async function untilQuiet(client: KubeClient, kind: Kind, { namespace, name }: SuspendedOwner, signal: AbortSignal): Promise<void> {
  for (const end = performance.now() + QUIET_MS; performance.now() < end; await sleep(POLL_MS, signal)) {
    if (!isBusy(await client.resource(kind).get(name, { namespace, signal }))) return;
  }
  printError(`Warning: ${kind.kind} ${namespace}/${name} is still reconciling after a minute and may write the policy again\n`);
}

function isBusy(object: KubeObject): boolean {
  const { operation, status } = object as Application & FluxOwner;
  if (operation !== undefined || object.metadata.annotations?.[REFRESH] !== undefined) return true;
  return status?.conditions?.some((condition) => condition.type === "Reconciling" && condition.status === "True") === true;
}

export function resumeCommand({ kind, namespace, name, automated }: SuspendedOwner): string {
  const spec = kind === "Application" ? { syncPolicy: { automated: { enabled: null, ...automated } } } : { suspend: false };
  return `kubectl patch ${PLURAL[kind]} ${name} -n ${namespace} --type merge -p '${JSON.stringify({ spec })}'`;
}
