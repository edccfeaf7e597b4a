import { claimSpec, persistentVolume } from "../sites/application.ts";
import { kindOf, PersistentVolume, VolumeReplication } from "../sites/kinds.ts";
import { createNamespace, type Site, until } from "../sites/site.ts";
import { Deployment } from "../../src/api/core/deployment.ts";
import { PersistentVolumeClaim } from "../../src/api/core/persistent-volume-claim.ts";
import { StatefulSet } from "../../src/api/core/stateful-set.ts";
import type { Role } from "../../src/api/failover/failover-policy.ts";
import type { Kind, KubeObject } from "../../src/api/kind.ts";
import type { ApplicationCopy } from "./copy.ts";

/** Makes the copy at a site, and waits until it runs. `home` is the namespace that is there already. */
export async function createCopy(
  site: Site,
  { home, ...of }: ApplicationCopy & { home: string },
  role: Role,
  signal: AbortSignal,
): Promise<void> {
  const { client, flux } = site;
  const create = (kind: Kind, object: object) => client.resource(kind).create(object as KubeObject, { signal });
  for (const namespace of of.namespaces) if (namespace !== home) await createNamespace(client, namespace, signal);
  await Promise.all(of.volumes.map(({ namespace, name }) => create(PersistentVolume, persistentVolume(namespace, name))));
  await Promise.all(of.claims.map((metadata) => create(PersistentVolumeClaim, { metadata, spec: claimSpec() })));
  const replications = of.replications.map((object) => {
    const { spec } = object as KubeObject & { spec: object };
    return Object.assign({}, object, { spec: { ...spec, replicationState: role } });
  });
  await Promise.all([...of.objects, ...replications].map((object) => create(kindOf(object), object)));
  for (const { object, declares } of of.flux) {
    const { kind, metadata } = object;
    if (kind !== "Kustomization" && kind !== "HelmRelease") continue;
    await flux.declare(kind, `${metadata.namespace}/${metadata.name}`, declares);
    await create(kindOf(object), object);
  }
  await until(`the copy runs at ${site.name}`, () => runs(site, of, role, signal), signal);
}

async function runs({ client }: Site, of: ApplicationCopy, role: Role, signal: AbortSignal): Promise<boolean> {
  const every = async <T extends KubeObject>(kind: Kind<T>): Promise<T[]> => {
    const lists = await Promise.all(of.namespaces.map((namespace) => client.resource(kind).list({ namespace, signal })));
    return lists.flatMap(({ items }) => items);
  };
  const workloads = [...(await every(Deployment)), ...(await every(StatefulSet))];
  const copied = [...of.objects, ...of.flux.filter(({ object }) => !isSuspended(object)).flatMap(({ declares }) => declares)];
  return (
    workloads.length >= copied.filter(({ kind }) => kind === "Deployment" || kind === "StatefulSet").length &&
    workloads.every(({ spec, status }) => (status?.availableReplicas ?? 0) === spec.replicas) &&
    (await every(VolumeReplication)).every(({ status }) => status?.state?.toLowerCase() === role)
  );
}

function isSuspended(object: KubeObject): boolean {
  return (object as KubeObject & { spec?: { suspend?: boolean } }).spec?.suspend === true;
}
