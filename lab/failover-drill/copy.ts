import { claimSpec } from "../sites/application.ts";
import { HelmRelease, Kustomization, VirtualService, VolumeReplication } from "../sites/kinds.ts";
import { CronJob } from "../../src/api/core/cron-job.ts";
import { Deployment } from "../../src/api/core/deployment.ts";
import type { LabelSelector } from "../../src/api/core/label-selector.ts";
import { StatefulSet } from "../../src/api/core/stateful-set.ts";
import { apiVersionOf, type Kind, type KubeObject } from "../../src/api/kind.ts";
import { readPrior } from "../../src/failover/steps/prior-annotation.ts";
import type { Managed } from "../../src/failover/policy/managed.ts";

/** An application as it is put on the stage: everything that a switch is about, and nothing else of it. */
export interface ApplicationCopy {
  readonly namespaces: readonly string[];
  /** Those that have to be made; a StatefulSet makes its own. */
  readonly claims: readonly ObjectRef[];
  /** The PersistentVolumes of all claims. */
  readonly volumes: readonly ObjectRef[];
  readonly objects: readonly KubeObject[];
  readonly replications: readonly KubeObject[];
  readonly flux: readonly { readonly object: KubeObject; readonly declares: readonly KubeObject[] }[];
}

interface ObjectRef {
  readonly namespace: string;
  readonly name: string;
}

interface PodTemplate {
  metadata?: { labels?: Record<string, string> };
  spec?: { terminationGracePeriodSeconds?: number; volumes?: { name: string; persistentVolumeClaim?: { claimName: string } }[] };
}

/** The fields of managed objects that a copy keeps. */
interface Original extends KubeObject {
  spec?: {
    replicas?: number;
    selector?: LabelSelector;
    serviceName?: string;
    podManagementPolicy?: string;
    persistentVolumeClaimRetentionPolicy?: object;
    template?: PodTemplate;
    volumeClaimTemplates?: { metadata?: { name?: string } }[];
    schedule?: string;
    suspend?: boolean;
    jobTemplate?: { spec?: { template?: PodTemplate } };
    dataSource?: { kind?: string; name?: string };
    hosts?: string[];
  };
}

/** The lab has no Argo CD, and its storage has no groups. */
export function isCopied({ kind }: Managed): boolean {
  return kind !== "Application" && kind !== "VolumeGroupReplication";
}

/** Copies what is there; pods keep their labels, claims and grace, and lose what a lab has no use for: images, nodes, resources, secrets. */
export function copyApplication(originals: readonly { readonly resource: Managed; readonly object: KubeObject }[]): ApplicationCopy {
  const flux = new Map<string, { object: KubeObject; declares: KubeObject[] }>();
  const objects: KubeObject[] = [];
  const replications: KubeObject[] = [];
  const claims = new Map<string, ObjectRef>();
  const volumes = new Map<string, ObjectRef>();
  for (const { resource, object } of originals) {
    if (resource.kind !== "HelmRelease" && resource.kind !== "Kustomization") continue;
    flux.set(`${resource.kind} ${resource.namespace}/${resource.name}`, { object: fluxCopy(resource, object), declares: [] });
  }
  for (const { resource, object } of originals) {
    const copy = copyOf(resource, object);
    if (!copy) continue;
    const { namespace } = resource;
    for (const name of claimsOf(resource, object)) claims.set(`${namespace}/${name}`, { namespace, name });
    for (const name of ordinalClaims(resource, object)) volumes.set(`${namespace}/${name}`, { namespace, name });
    if (resource.kind === "VolumeReplication") replications.push(copy);
    else (flux.get(ownerOf(object) ?? "")?.declares ?? objects).push(copy);
  }
  const made = [...claims].filter(([key]) => !volumes.has(key)).map(([, ref]) => ref);
  return {
    namespaces: [...new Set(originals.map(({ resource }) => resource.namespace))],
    claims: made,
    volumes: [...volumes.values(), ...made],
    objects,
    replications,
    flux: [...flux.values()],
  };
}

/** None for Flux objects, which are copied first. */
function copyOf(resource: Managed, object: KubeObject): KubeObject | undefined {
  const { spec = {} } = object as Original;
  const { labels = {} } = object.metadata;
  if (resource.kind === "StatefulSet") return named(StatefulSet, resource, labels, statefulSpec(resource, object));
  if (resource.kind === "VirtualService") return named(VirtualService, resource, labels, { hosts: spec.hosts ?? [resource.name] });
  if (resource.kind === "Deployment") {
    return named(Deployment, resource, labels, { replicas: replicasOf(object), selector: spec.selector, template: podOf(spec.template) });
  }
  if (resource.kind === "CronJob") {
    const template = podOf(spec.jobTemplate?.spec?.template);
    const jobTemplate = { spec: { template: { ...template, spec: { ...template.spec, restartPolicy: "Never" } } } };
    return named(CronJob, resource, labels, { schedule: spec.schedule ?? "0 0 1 1 *", suspend: suspendOf(object), jobTemplate });
  }
  if (resource.kind !== "VolumeReplication") return undefined;
  const { kind = "PersistentVolumeClaim", name = resource.name } = spec.dataSource ?? {};
  const rest = { volumeReplicationClass: "replicated", autoResync: false, replicationHandle: "" };
  // In the lab no owner applies it, whatever does here.
  return named(VolumeReplication, resource, {}, { ...rest, dataSource: { kind, name } });
}

function statefulSpec({ name }: Managed, object: KubeObject): object {
  const { spec = {} } = object as Original;
  const { selector, serviceName = name, podManagementPolicy, persistentVolumeClaimRetentionPolicy } = spec;
  return {
    replicas: replicasOf(object),
    selector,
    serviceName,
    ...(podManagementPolicy !== undefined && { podManagementPolicy }),
    ...(persistentVolumeClaimRetentionPolicy && { persistentVolumeClaimRetentionPolicy }),
    template: podOf(spec.template),
    volumeClaimTemplates: templatesOf(object).map((template) => ({ metadata: { name: template }, spec: claimSpec() })),
  };
}

function fluxCopy(resource: Managed, object: KubeObject): KubeObject {
  const { name } = resource;
  const suspend = suspendOf(object);
  return resource.kind === "Kustomization"
    ? named(Kustomization, resource, {}, { interval: "10m", prune: false, sourceRef: { kind: "GitRepository", name }, suspend })
    : named(HelmRelease, resource, {}, { interval: "10m", chartRef: { kind: "OCIRepository", name }, suspend });
}

function named(kind: Kind, { namespace, name }: Managed, labels: Record<string, string>, spec: object): KubeObject {
  return { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: { name, namespace, labels }, spec } as KubeObject;
}

function podOf({ metadata, spec }: PodTemplate = {}) {
  const grace = spec?.terminationGracePeriodSeconds;
  const volumes = (spec?.volumes ?? []).flatMap(({ name, persistentVolumeClaim: claim }) =>
    claim ? [{ name, persistentVolumeClaim: { claimName: claim.claimName } }] : [],
  );
  return {
    metadata: { labels: metadata?.labels ?? {} },
    spec: { containers: [{ name: "main", image: "none" }], volumes, ...(grace !== undefined && { terminationGracePeriodSeconds: grace }) },
  };
}

/** What a primary site has, also where this one is the secondary. */
function replicasOf(object: KubeObject): number {
  const memory = readPrior(object, "replicas");
  return memory.is === "there" ? memory.prior : ((object as Original).spec?.replicas ?? 1);
}

function suspendOf(object: KubeObject): boolean {
  const memory = readPrior(object, "suspend");
  return memory.is === "there" ? memory.prior === true : (object as Original).spec?.suspend === true;
}

function templatesOf(object: KubeObject): string[] {
  return ((object as Original).spec?.volumeClaimTemplates ?? []).flatMap(({ metadata }) => metadata?.name ?? []);
}

/** The claims that its pods mount, or that it replicates. */
function claimsOf({ kind, name }: Managed, object: KubeObject): string[] {
  const { spec = {} } = object as Original;
  if (kind === "VolumeReplication") return [spec.dataSource?.name ?? name];
  const template = kind === "CronJob" ? spec.jobTemplate?.spec?.template : spec.template;
  return (template?.spec?.volumes ?? []).flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? []);
}

/** `data-db-0`, `data-db-1` */
function ordinalClaims({ kind, name }: Managed, object: KubeObject): string[] {
  if (kind !== "StatefulSet") return [];
  const ordinals = Array.from({ length: replicasOf(object) }, (_, at) => at);
  return templatesOf(object).flatMap((template) => ordinals.map((at) => `${template}-${name}-${at}`));
}

/** The Flux object that declares it, as its labels say. */
function ownerOf({ metadata: { labels = {} } }: KubeObject): string | undefined {
  for (const [kind, domain] of [
    ["Kustomization", "kustomize"],
    ["HelmRelease", "helm"],
  ]) {
    const name = labels[`${domain}.toolkit.fluxcd.io/name`];
    if (name !== undefined) return `${kind} ${labels[`${domain}.toolkit.fluxcd.io/namespace`]}/${name}`;
  }
  return undefined;
}
