import { type Command } from "commander";
import { PodNetworkConnectivityCheck, sourceOf } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { Node } from "../../api/core/node.ts";
import { Pod } from "../../api/core/pod.ts";
import { fittingName, LONGEST } from "../../api/object-name.ts";
import type { Kind, KubeObject } from "../../api/kind.ts";
import { meshMark, sourceNodeMark } from "../../api/annotations.ts";
import { isRetired } from "../../connectivity/mesh/steps.ts";
import { placesIn } from "../../connectivity/analysis/zones.ts";
import { type Places, saidBy } from "../../connectivity/analysis/check-result.ts";
import type { Told } from "../../connectivity/analysis/results-during.ts";
import { outagesSeen } from "../../connectivity/analysis/outage-window.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import { nodeAnnotation } from "../../kube/members/agent-lease.ts";
import { type ConnectionOptions, withLooking } from "../shared/connection.ts";
import { CliError, EXIT } from "../shared/exit.ts";

export interface CheckSelection extends ConnectionOptions {
  namespace?: string;
  mesh?: string;
}

export function withCheckSelection(command: Command): Command {
  return withLooking(command)
    .option("-n, --namespace <name>", "only checks of this namespace; otherwise of all")
    .option("--mesh <name>", "only checks of this ConnectivityMesh");
}

export interface ReadChecks {
  /** Those that are tried, or should be. */
  readonly current: readonly Told[];
  /** Those, and those that nobody wants any more and that still tell of outages. */
  readonly all: readonly Told[];
}

/** Reads the checks and what they say. What else there is to know, of nodes and pods, is left out where we may not see it. */
export async function readChecks(client: KubeClient, options: CheckSelection, now: number, signal: AbortSignal): Promise<ReadChecks> {
  const checks = await listChecks(client, options, signal);
  const places = await placesOf(client, checks, signal);
  const all = checks.map((check) => ({ check, said: saidBy(check, places, now), outages: outagesSeen(check, places, now) }));
  return { all, current: all.filter(({ check }) => !isRetired(check)) };
}

/** What to say where there are none. */
export function noChecks({ namespace, mesh }: CheckSelection): CliError {
  const where = `${namespace === undefined ? "" : ` in namespace ${namespace}`}${mesh === undefined ? "" : ` of ConnectivityMesh ${mesh}`}`;
  const advice = where === "" ? "; a ConnectivityMesh makes them" : "";
  return new CliError(`There are no checks${where}${advice}`, EXIT.unknown);
}

async function listChecks(
  client: KubeClient,
  { namespace, mesh }: CheckSelection,
  signal: AbortSignal,
): Promise<PodNetworkConnectivityCheck[]> {
  const selection = {
    ...(namespace !== undefined && { namespace }),
    ...(mesh !== undefined && { labelSelector: `${meshMark}=${fittingName(mesh, LONGEST.label)}` }),
  };
  try {
    const { items } = await client.resource(PodNetworkConnectivityCheck).list({ ...selection, signal });
    return items.filter(({ metadata }) => mesh === undefined || metadata.annotations?.[meshMark] === mesh);
  } catch (error) {
    if (!isKubeError(error, "NotFound")) throw error;
    const hint = "install it with: plumbline crds | kubectl apply -f -";
    throw new CliError(`The server has no kind PodNetworkConnectivityCheck; ${hint}`, EXIT.unknown, { cause: error });
  }
}

async function placesOf(client: KubeClient, checks: readonly PodNetworkConnectivityCheck[], signal: AbortSignal): Promise<Places> {
  const nodes = await whatIsSeen(client, Node, undefined, signal);
  const pods = new Map<string, string | undefined>();
  for (const namespace of placeless(checks))
    for (const { metadata, spec } of await whatIsSeen(client, Pod, namespace, signal))
      pods.set(`${namespace}/${metadata.name}`, spec.nodeName);
  return { ...placesIn(nodes), nodeOfPod: (pod) => pods.get(pod) };
}

/** The namespaces of checks that somebody else than a mesh made: nobody has noted where their sources run. */
function placeless(checks: readonly PodNetworkConnectivityCheck[]): Set<string> {
  const marks = [nodeAnnotation, sourceNodeMark];
  const unmarked = checks.filter(
    (check) => sourceOf(check) !== "" && marks.every((mark) => check.metadata.annotations?.[mark] === undefined),
  );
  return new Set(unmarked.map(({ metadata }) => metadata.namespace ?? ""));
}

async function whatIsSeen<T extends KubeObject>(
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
