import { ConnectivityMesh } from "../../api/connectivity/connectivity-mesh.ts";
import { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { Service } from "../../api/core/service.ts";
import { type KubeObject, manifestsOf } from "../../api/kind.ts";
import { probeText, readProbe } from "../../api/connectivity/probe.ts";
import { allowAnnotation, nodeAnnotation, probeAnnotation } from "../../api/annotations.ts";
import { allowsMeshesOf } from "../../connectivity/mesh/target-parts.ts";
import { forbiddenReason } from "../../connectivity/probe/special-addresses.ts";
import { parseTarget } from "../../connectivity/probe/target.ts";
import type { LintFailure, LintWarning } from "./rules.ts";

/** Where nodes may be sources, unless Plumbline was given another namespace. */
const SYSTEM_NAMESPACE = "plumbline-system";

interface Remark {
  readonly field: string;
  readonly message: string | undefined;
}

/** Targets that cannot be probed, and ports that the Services among the manifests do not have. */
export function connectivityRule(objects: readonly KubeObject[]): LintFailure[] {
  const services = servicesOf(objects);
  const about = remarks(
    objects,
    ({ spec, metadata }) => [
      { field: "spec.targetEndpoint", message: problemOf(spec.targetEndpoint) },
      { field: `metadata.annotations[${probeAnnotation}]`, message: probeProblem(metadata.annotations?.[probeAnnotation]) },
    ],
    (mesh) => meshFaults(mesh, services),
  );
  return about.map((remark) => Object.assign(remark, { reason: "ValidationFailed", class: "Permanent" as const }));
}

/** Targets that need --allow-target, Services that do not allow the mesh, and nodes as sources outside the system namespace. */
export function connectivityWarnings(objects: readonly KubeObject[]): LintWarning[] {
  const services = servicesOf(objects);
  return remarks(
    objects,
    (check) => [
      { field: "spec.targetEndpoint", message: targetProblem(check.spec.targetEndpoint) },
      { field: "metadata.annotations", message: nodeAnnotation in (check.metadata.annotations ?? {}) ? elsewhere(check) : undefined },
    ],
    (mesh) => [
      { field: "spec.sources.nodes", message: mesh.spec.sources.nodes && elsewhere(mesh) },
      ...mesh.spec.targets.map(({ host = "" }, at): Remark => ({ field: `spec.targets[${at}].host`, message: targetProblem(host) })),
      ...mesh.spec.targets.map((target, at): Remark => ({ field: `spec.targets[${at}]`, message: noConsent(target, mesh, services) })),
    ],
  );
}

function servicesOf(objects: readonly KubeObject[]): Map<string, Service> {
  return new Map(manifestsOf<Service>(Service, objects).map((service) => [`${namespaceOf(service)}/${service.metadata.name}`, service]));
}

function noConsent(
  { service, endpoints }: ConnectivityMesh["spec"]["targets"][number],
  mesh: ConnectivityMesh,
  services: ReadonlyMap<string, Service>,
): string | undefined {
  const own = namespaceOf(mesh);
  const namespace = (service ?? endpoints)?.namespace ?? own;
  const key = `${namespace}/${service?.name ?? endpoints?.service}`;
  const found = services.get(key);
  if (!found || namespace === own || own === SYSTEM_NAMESPACE || allowsMeshesOf(own, found)) return undefined;
  return `Service ${key} does not allow meshes of namespace ${own}: annotate it with ${allowAnnotation}: ${own}`;
}

function meshFaults(mesh: ConnectivityMesh, services: ReadonlyMap<string, Service>): Remark[] {
  const { sourcesPerTarget, targets } = mesh.spec;
  const few = Number(sourcesPerTarget) < 1 ? "must be at least 1, or all" : undefined;
  const perTarget = targets.map(({ host, service, endpoints }, at): Remark => {
    if (host !== undefined) return { field: `spec.targets[${at}].host`, message: problemOf(host) };
    // What a connection cannot test is not observed, which is no mistake.
    if (service?.external && service.port === undefined) return { field: `spec.targets[${at}].service`, message: undefined };
    if (service) return { field: `spec.targets[${at}].service.port`, message: portProblem(service, service.name, mesh, services) };
    return { field: `spec.targets[${at}].endpoints.port`, message: portProblem(endpoints, endpoints?.service, mesh, services) };
  });
  const perProbe = targets.map(({ probe }, at): Remark => {
    return { field: `spec.targets[${at}].probe`, message: probeProblem(probe && probeText(probe)) };
  });
  return [{ field: "spec.sourcesPerTarget", message: few }, ...perTarget, ...perProbe];
}

function remarks(
  objects: readonly KubeObject[],
  ofCheck: (check: PodNetworkConnectivityCheck) => Remark[],
  ofMesh: (mesh: ConnectivityMesh) => Remark[],
): LintWarning[] {
  const checks = manifestsOf<PodNetworkConnectivityCheck>(PodNetworkConnectivityCheck, objects);
  const meshes = manifestsOf<ConnectivityMesh>(ConnectivityMesh, objects);
  return [...checks.flatMap((check) => warningsOf(check, ofCheck(check))), ...meshes.flatMap((mesh) => warningsOf(mesh, ofMesh(mesh)))];
}

function warningsOf({ kind = "", metadata: { name, namespace = "" } }: KubeObject, about: readonly Remark[]): LintWarning[] {
  return about.flatMap(({ field, message }) => (message === undefined ? [] : [{ kind, name, namespace, field, message }]));
}

type TargetService = { namespace?: string; port?: number | string } | undefined;

function portProblem(
  target: TargetService,
  name: string | undefined,
  mesh: ConnectivityMesh,
  services: ReadonlyMap<string, Service>,
): string | undefined {
  const key = `${target?.namespace ?? namespaceOf(mesh)}/${name}`;
  const service = services.get(key);
  // The Service is not among the manifests, so nothing is known about it.
  if (!target || !service) return undefined;
  const wanted = target.port;
  const tcp = (service.spec.ports ?? []).filter(({ protocol }) => (protocol ?? "TCP") === "TCP");
  const found = wanted === undefined ? tcp : tcp.filter((port) => port.name === wanted || String(port.port) === String(wanted));
  return found.length > 0 ? undefined : `Service ${key} has no TCP port${wanted === undefined ? "" : ` ${wanted}`}`;
}

function problemOf(text: string): string | undefined {
  const target = parseTarget(text);
  return "problem" in target ? target.problem : undefined;
}

function probeProblem(annotation: string | undefined): string | undefined {
  const probe = annotation === undefined ? undefined : readProbe(annotation);
  return probe && "problem" in probe ? probe.problem : undefined;
}

function targetProblem(text: string): string | undefined {
  const target = parseTarget(text);
  return "problem" in target || !target.address ? undefined : forbiddenReason(target.address, []);
}

function elsewhere(object: KubeObject): string | undefined {
  if (namespaceOf(object) === SYSTEM_NAMESPACE) return undefined;
  return `nodes try only checks of Plumbline's own namespace, which is ${SYSTEM_NAMESPACE} unless it was given another`;
}

function namespaceOf({ metadata }: KubeObject): string {
  return metadata.namespace ?? "default";
}
