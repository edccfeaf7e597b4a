import type { Command } from "commander";
import { PodNetworkConnectivityCheck, sourceOf } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { Node } from "../../api/core/node.ts";
import { Pod } from "../../api/core/pod.ts";
import { objectName, MAX_NAME_LENGTH } from "../../api/object-name.ts";
import type { Kind, KubeObject } from "../../api/kind.ts";
import { meshAnnotation, nodeAnnotation, sourceNodeAnnotation } from "../../api/annotations.ts";
import { isRetired } from "../../connectivity/mesh/steps.ts";
import { zonesOf, type Zones, resultOf } from "../../connectivity/analysis/check-result.ts";
import { type CheckWithOutages, outageWindows } from "../../connectivity/analysis/outage-window.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import { type ConnectionOptions, withReadSource } from "../shared/connection.ts";
import { CliError, EXIT } from "../shared/exit.ts";

export interface CheckSelection extends ConnectionOptions {
  namespace?: string;
  mesh?: string;
}

export function withCheckSelection(command: Command): Command {
  return withReadSource(command)
    .option("-n, --namespace <name>", "only checks of this namespace (default: all)")
    .option("--mesh <name>", "only checks of this ConnectivityMesh");
}

export interface ReadChecks {
  readonly current: readonly CheckWithOutages[];
  /** Also the removed ones that still have outages. */
  readonly all: readonly CheckWithOutages[];
}

/** Nodes and pods are left out if this user may not list them. */
export async function readChecks(client: KubeClient, options: CheckSelection, now: number, signal: AbortSignal): Promise<ReadChecks> {
  const checks = await listChecks(client, options, signal);
  const zones = await readZones(client, checks, signal);
  const all = checks.map((check) => ({ check, result: resultOf(check, zones, now), outages: outageWindows(check, zones, now) }));
  return { all, current: all.filter(({ check }) => !isRetired(check)) };
}

export function noChecks({ namespace, mesh }: CheckSelection): CliError {
  const where = `${namespace === undefined ? "" : ` in namespace ${namespace}`}${mesh === undefined ? "" : ` of ConnectivityMesh ${mesh}`}`;
  const advice = where === "" ? ": create a ConnectivityMesh" : "";
  return new CliError(`No checks found${where}${advice}`, EXIT.unknown);
}

async function listChecks(
  client: KubeClient,
  { namespace, mesh }: CheckSelection,
  signal: AbortSignal,
): Promise<PodNetworkConnectivityCheck[]> {
  const selection = {
    ...(namespace !== undefined && { namespace }),
    ...(mesh !== undefined && { labelSelector: `${meshAnnotation}=${objectName(mesh, MAX_NAME_LENGTH.label)}` }),
  };
  try {
    const { items } = await client.resource(PodNetworkConnectivityCheck).list({ ...selection, signal });
    return items.filter(({ metadata }) => mesh === undefined || metadata.annotations?.[meshAnnotation] === mesh);
  } catch (error) {
    if (!isKubeError(error, "NotFound")) throw error;
    const hint = "run plumbline crds | kubectl apply -f -";
    throw new CliError(`The server has no kind PodNetworkConnectivityCheck: ${hint}`, EXIT.unknown, { cause: error });
  }
}

async function readZones(client: KubeClient, checks: readonly PodNetworkConnectivityCheck[], signal: AbortSignal): Promise<Zones> {
  const nodes = await listIfAllowed(client, Node, undefined, signal);
  const pods = new Map<string, string | undefined>();
  for (const namespace of namespacesOfUnknownSources(checks))
    for (const { metadata, spec } of await listIfAllowed(client, Pod, namespace, signal))
      pods.set(`${namespace}/${metadata.name}`, spec.nodeName);
  return { ...zonesOf(nodes), nodeOfPod: (pod) => pods.get(pod) };
}

/** The namespaces of checks without a mesh: no object records where their sources run. */
function namespacesOfUnknownSources(checks: readonly PodNetworkConnectivityCheck[]): Set<string> {
  const marks = [nodeAnnotation, sourceNodeAnnotation];
  const unmarked = checks.filter(
    (check) => sourceOf(check) !== "" && marks.every((mark) => check.metadata.annotations?.[mark] === undefined),
  );
  return new Set(unmarked.map(({ metadata }) => metadata.namespace ?? ""));
}

async function listIfAllowed<T extends KubeObject>(
  client: KubeClient,
  kind: Kind<T>,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<T[]> {
  try {
    return (await client.resource(kind).list({ ...(namespace !== undefined && { namespace }), signal })).items;
  } catch (error) {
    if (isKubeError(error, "Forbidden") || isKubeError(error, "NotFound")) return [];
    throw error;
  }
}
