import { ConfigMap } from "../../api/core/config-map.ts";
import { DaemonSet } from "../../api/core/daemon-set.ts";
import { Deployment } from "../../api/core/deployment.ts";
import { Namespace } from "../../api/core/namespace.ts";
import { Node } from "../../api/core/node.ts";
import { Secret } from "../../api/core/secret.ts";
import { Service } from "../../api/core/service.ts";
import { CustomResourceDefinition } from "../../api/crds/crd.ts";
import type { Kind, KubeObject } from "../../api/kind.ts";
import { CUSTOM_KINDS, NETWORK_KINDS } from "../../api/crds/kinds.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import { ValidatingWebhookConfiguration } from "../../kube/webhook/configuration.ts";

/** Other projects use conversion, and the server records the stored versions. */
export type StoredDefinition = Omit<CustomResourceDefinition, "spec" | "status"> & {
  spec: Omit<CustomResourceDefinition["spec"], "conversion"> & { conversion?: { strategy: string } };
  status?: { storedVersions?: string[] };
};

/** A Deployment or DaemonSet. */
export interface Workload extends KubeObject {
  kind: "Deployment" | "DaemonSet";
  spec: { replicas?: number; template?: { spec?: { containers?: Container[] } } };
  status?: { observedGeneration?: number; desiredNumberScheduled?: number };
}

interface Container {
  name: string;
  image?: string;
  args?: string[];
  env?: { name: string; value?: string }[];
}

/** The cluster before the migration, as far as this user may read it. */
export interface Inventory {
  readonly definitions: readonly StoredDefinition[];
  readonly workloads: readonly Workload[];
  readonly webhooks: readonly ValidatingWebhookConfiguration[];
  /** Of the kinds that Plumbline has too or can convert, with their statuses. */
  readonly objects: readonly KubeObject[];
  readonly services: readonly Service[];
  readonly nodes: readonly Node[];
  readonly namespaces: readonly Namespace[];
  /** Only names are used; data of Secrets is dropped. */
  readonly configMaps: readonly KubeObject[];
  readonly secrets: readonly KubeObject[];
  /** What could not be read, with the reason. */
  readonly unreadable: readonly string[];
}

export async function readInventory(
  client: KubeClient,
  { metallbNamespace }: { metallbNamespace: string },
  signal: AbortSignal,
): Promise<Inventory> {
  const unreadable: string[] = [];
  const list = async <T extends KubeObject>(kind: Kind<T>, where: { namespace?: string } = {}): Promise<readonly T[]> => {
    try {
      return (await client.resource(kind).list({ ...where, signal })).items;
    } catch (error) {
      if (isKubeError(error, "NotFound")) return [];
      if (!isKubeError(error)) throw error;
      unreadable.push(`${kind.plural}${where.namespace === undefined ? "" : ` in ${where.namespace}`}: ${error.message}`);
      return [];
    }
  };
  const definitions = (await list(CustomResourceDefinition)) as readonly unknown[] as readonly StoredDefinition[];
  const there = new Set(definitions.map(({ metadata }) => metadata.name));
  const kinds = ([...CUSTOM_KINDS, ...NETWORK_KINDS] as readonly Kind[]).filter(({ plural, group }) => there.has(`${plural}.${group}`));
  const [objects, deployments, daemonSets] = await Promise.all([
    Promise.all(kinds.map((kind) => list(kind))),
    list(Deployment as Kind),
    list(DaemonSet as Kind),
  ]);
  return {
    definitions,
    workloads: [...named("Deployment", deployments), ...named("DaemonSet", daemonSets)] as Workload[],
    webhooks: await list(ValidatingWebhookConfiguration),
    objects: objects.flat(),
    services: await list(Service),
    nodes: await list(Node),
    namespaces: await list(Namespace),
    configMaps: await list(ConfigMap, { namespace: metallbNamespace }),
    secrets: (await list(Secret, { namespace: metallbNamespace })).map(({ metadata: { name, namespace = "" } }) => ({
      metadata: { name, namespace },
    })),
    unreadable,
  };
}

function named(kind: string, objects: readonly KubeObject[]): KubeObject[] {
  return objects.map((object) => ({ ...object, kind }));
}
