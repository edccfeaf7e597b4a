import { CronJob } from "../../src/api/core/cron-job.ts";
import { Deployment } from "../../src/api/core/deployment.ts";
import { Job } from "../../src/api/core/job.ts";
import { PersistentVolumeClaim } from "../../src/api/core/persistent-volume-claim.ts";
import { StatefulSet } from "../../src/api/core/stateful-set.ts";
import type { FailoverPolicy, Role } from "../../src/api/failover/failover-policy.ts";
import { apiVersionOf, type Kind, type KubeObject } from "../../src/api/kind.ts";
import type { FluxObject } from "../../src/failover/observe/external-kinds.ts";
import { DRIVER } from "./external-attacher.ts";
import { HelmRelease, Kustomization, PersistentVolume, STORAGE_CLASS, VirtualService, VolumeReplication } from "./kinds.ts";
import { type Site, until } from "./site.ts";

interface ApplicationOptions {
  namespace: string;
  /** Whether its volumes are primary here. */
  role: Role;
  /** How long its pods may take to end. */
  graceSeconds?: number;
}

/**
 * An application with one of everything that a policy switches:
 *
 * - Deployment web: two pods, the claim `files`, a VirtualService
 * - StatefulSet db: one pod, the claim `data-db-0`
 * - CronJob report: a Job that runs, the claim `files`
 * - Kustomization site: declares Deployment api with two pods
 * - HelmRelease cache: declares Deployment cache with one pod
 * - VolumeReplications of both claims, by their names
 */
export const MANAGED: FailoverPolicy["spec"]["managedResources"] = [
  { kind: "VolumeReplication", name: "data-db-0" },
  { kind: "VolumeReplication", name: "files" },
  { kind: "Deployment", name: "web" },
  { kind: "Deployment", name: "api" },
  { kind: "Deployment", name: "cache" },
  { kind: "StatefulSet", name: "db" },
  { kind: "CronJob", name: "report" },
  { kind: "VirtualService", name: "web" },
  { kind: "HelmRelease", name: "cache" },
  { kind: "Kustomization", name: "site" },
];

/** Makes it and waits until it runs. */
export async function createApplication(site: Site, options: ApplicationOptions, signal: AbortSignal): Promise<void> {
  const { client, flux } = site;
  const { namespace, role, graceSeconds = 1 } = options;
  // The kinds' types have the fields that we read, a manifest has all.
  const create = (kind: Kind, object: { metadata: { name: string }; spec: object }) =>
    client.resource(kind).create({ ...object, metadata: { namespace, ...object.metadata } }, { signal });

  const claims = ["data-db-0", "files"];
  await Promise.all(claims.map((claim) => create(PersistentVolume, persistentVolume(namespace, claim))));
  await create(PersistentVolumeClaim, { metadata: { name: "files" }, spec: claimSpec() });
  await Promise.all([
    ...claims.map((claim) => create(VolumeReplication, volumeReplication(claim, role))),
    create(Deployment, deployment("web", { replicas: 2, graceSeconds, claim: "files" })),
    create(StatefulSet, database(graceSeconds)),
    create(VirtualService, { metadata: { name: "web" }, spec: { hosts: ["web.example.org"], http: [{ route: [destination("web")] }] } }),
    create(CronJob, cronJob("report", graceSeconds)).then((owner) => create(Job, runOf(owner, graceSeconds))),
  ]);

  await flux.declare("Kustomization", `${namespace}/site`, [declared(namespace, deployment("api", { replicas: 2, graceSeconds }))]);
  await flux.declare("HelmRelease", `${namespace}/cache`, [declared(namespace, deployment("cache", { replicas: 1, graceSeconds }))]);
  await create(Kustomization, {
    metadata: { name: "site" },
    spec: { interval: "10m", prune: true, sourceRef: { kind: "GitRepository", name: "site" } },
  });
  await create(HelmRelease, {
    metadata: { name: "cache" },
    // Helm looks at what it waits for every five seconds only.
    spec: {
      interval: "10m",
      chartRef: { kind: "OCIRepository", name: "cache" },
      install: { disableWait: true },
      upgrade: { disableWait: true },
    },
  });
  await until(`the application in ${namespace} runs`, () => runs(site, namespace, role, signal), signal);
}

/** Whether every pod that is asked for is there, every volume is what it should be, and Flux is at rest. */
async function runs({ client }: Site, namespace: string, role: Role, signal: AbortSignal): Promise<boolean> {
  const [deployments, statefulSets, jobs, volumes, kustomizations, releases] = await Promise.all([
    client.resource(Deployment).list({ namespace, signal }),
    client.resource(StatefulSet).list({ namespace, signal }),
    client.resource(Job).list({ namespace, signal }),
    client.resource(VolumeReplication).list({ namespace, signal }),
    client.resource(Kustomization).list({ namespace, signal }),
    client.resource(HelmRelease).list({ namespace, signal }),
  ]);
  const workloads = [...deployments.items, ...statefulSets.items];
  return (
    workloads.length === 4 &&
    workloads.every(({ spec, status }) => status?.availableReplicas === spec.replicas) &&
    jobs.items.every(({ status }) => status?.active === 1) &&
    volumes.items.every(({ status }) => status?.state?.toLowerCase() === role) &&
    [...kustomizations.items, ...releases.items].every(isReady)
  );
}

function isReady({ metadata, status }: FluxObject): boolean {
  const ready = status?.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True");
  return ready === true && status?.observedGeneration === metadata.generation;
}

/** A Kustomization `volumes` that declares the VolumeReplication `files` in this role, as Git does where volumes are kept in it. */
export async function declareVolume({ client, flux }: Site, namespace: string, role: Role, signal: AbortSignal): Promise<void> {
  const name = "volumes";
  const { metadata, spec } = volumeReplication("files", role);
  const declared = { apiVersion: apiVersionOf(VolumeReplication), kind: "VolumeReplication", metadata: { namespace, ...metadata }, spec };
  await flux.declare("Kustomization", `${namespace}/${name}`, [declared]);
  const source = { interval: "10m", prune: false, sourceRef: { kind: "GitRepository", name } };
  await client.resource(Kustomization).create({ metadata: { name, namespace }, spec: source as object }, { signal });
  await until(
    `Kustomization ${namespace}/${name} is ready`,
    async () => isReady(await client.resource(Kustomization).get(name, { namespace, signal })),
    signal,
  );
}

/** The objects that the policy names, their Jobs and the policy's own marks on them, without what the server counts. */
export async function readApplication({ client }: Site, namespace: string, signal: AbortSignal): Promise<Record<string, ReadObject>> {
  const kinds: Kind[] = [VolumeReplication, Deployment, StatefulSet, CronJob, Job, VirtualService, HelmRelease, Kustomization];
  const lists = await Promise.all(
    kinds.map(async (kind) => (await client.resource(kind).list({ namespace, signal })).items.map((item) => [kind.kind, item] as const)),
  );
  return Object.fromEntries(
    lists.flat().map(([kind, object]) => {
      const { spec } = object as KubeObject & { spec: Record<string, unknown> };
      return [`${kind}/${object.metadata.name}`, { spec, annotations: object.metadata.annotations ?? {} }];
    }),
  );
}

export interface ReadObject {
  readonly spec: Readonly<Record<string, unknown>>;
  readonly annotations: Readonly<Record<string, string>>;
}

function declared(namespace: string, object: ReturnType<typeof deployment>): KubeObject {
  return { apiVersion: apiVersionOf(Deployment), kind: "Deployment", ...object, metadata: { namespace, ...object.metadata } };
}

interface PodOptions {
  graceSeconds: number;
  claim?: string;
}

function podTemplate(app: string, { graceSeconds, claim }: PodOptions) {
  const mounts = claim === undefined ? {} : { volumeMounts: [{ name: "data", mountPath: "/data" }] };
  return {
    metadata: { labels: { app } },
    spec: {
      terminationGracePeriodSeconds: graceSeconds,
      containers: [{ name: "main", image: "none", ...mounts }],
      ...(claim === undefined ? {} : { volumes: [{ name: "data", persistentVolumeClaim: { claimName: claim } }] }),
    },
  };
}

function deployment(name: string, { replicas, ...pod }: PodOptions & { replicas: number }) {
  return { metadata: { name }, spec: { replicas, selector: { matchLabels: { app: name } }, template: podTemplate(name, pod) } };
}

export function statefulSet(name: string, options: PodOptions & { replicas: number }) {
  const { metadata, spec } = deployment(name, options);
  return { metadata, spec: { ...spec, serviceName: name } };
}

/** Its claim is made for it, `data-db-0`. */
function database(graceSeconds: number) {
  const { metadata, spec } = statefulSet("db", { replicas: 1, graceSeconds });
  const [main] = spec.template.spec.containers;
  const containers = [{ ...main, volumeMounts: [{ name: "data", mountPath: "/data" }] }];
  const template = { ...spec.template, spec: { ...spec.template.spec, containers } };
  return { metadata, spec: { ...spec, template, volumeClaimTemplates: [{ metadata: { name: "data" }, spec: claimSpec() }] } };
}

/** It is never due: its one Job is started by hand. */
function cronJob(name: string, graceSeconds: number) {
  return { metadata: { name }, spec: { schedule: "0 0 1 1 *", jobTemplate: { spec: jobSpec(name, graceSeconds) } } };
}

function runOf({ metadata }: KubeObject, graceSeconds: number) {
  const { name, uid = "" } = metadata;
  const ownerReferences = [{ apiVersion: apiVersionOf(CronJob), kind: "CronJob", name, uid, controller: true }];
  return { metadata: { name: `${name}-1`, ownerReferences }, spec: jobSpec(name, graceSeconds) };
}

function jobSpec(name: string, graceSeconds: number) {
  const { metadata, spec } = podTemplate(name, { graceSeconds, claim: "files" });
  return { template: { metadata, spec: { ...spec, restartPolicy: "Never" } } };
}

function destination(host: string) {
  return { destination: { host } };
}

/** A volume that is there already and waits for this claim. */
export function persistentVolume(namespace: string, claim: string) {
  return {
    metadata: { name: `${namespace}-${claim}` },
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteMany"],
      persistentVolumeReclaimPolicy: "Retain",
      storageClassName: STORAGE_CLASS,
      claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name: claim },
      // Both sites give the same claim the same one.
      csi: { driver: DRIVER, volumeHandle: `${namespace}/${claim}` },
    },
  };
}

/** Of a claim; the volume that names it becomes its own. */
export function claimSpec() {
  return { accessModes: ["ReadWriteMany"], storageClassName: STORAGE_CLASS, resources: { requests: { storage: "1Gi" } } };
}

export function volumeReplication(claim: string, role: Role) {
  return {
    metadata: { name: claim },
    spec: {
      volumeReplicationClass: STORAGE_CLASS,
      replicationState: role,
      dataSource: { kind: "PersistentVolumeClaim", name: claim },
      autoResync: false,
      replicationHandle: "",
    },
  };
}
