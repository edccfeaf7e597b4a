import { nodeAnnotation } from "../../api/annotations.ts";
import { type Command, Option } from "commander";
import { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { Lease } from "../../api/core/lease.ts";
import { announcedType, Service } from "../../api/core/service.ts";
import { type Kind, type KubeObject, type ObjectMeta } from "../../api/kind.ts";
import { BGPSessionStatus } from "../../api/metallb/bgp-session-status.ts";
import { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import { ConfigurationStatus } from "../../api/metallb/configuration-status.ts";
import { ServiceBGPStatus } from "../../api/metallb/service-bgp-status.ts";
import { ServiceL2Status } from "../../api/metallb/service-l2-status.ts";
import { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import { metaTime } from "../../api/time.ts";
import { isStale, reachableOf } from "../../connectivity/history/activity.ts";
import { nodeOf } from "../../connectivity/source-of-check.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import { sleep } from "../../util/sleep.ts";
import { agentSelector, CONTROLLER_LEASE, nodeOfLease } from "../../kube/members/agent-lease.ts";
import { setCondition, withTransitionTimes } from "../../kube/status/conditions.ts";
import { configurationStateName } from "../../loadbalancer/status/configuration-state.ts";
import { configurationStatusName } from "../../loadbalancer/status/configuration-status.ts";
import { connect, type ConnectionOptions, withConnection } from "../shared/connection.ts";
import { CliError, EXIT, exitCodeOf, failWith } from "../shared/exit.ts";
import { stripControlCharacters } from "../print/columns.ts";
import { printItems } from "../print/items.ts";
import { plural } from "../../util/text.ts";

interface CleanOptions extends ConnectionOptions {
  statuses?: boolean;
  dryRun?: boolean;
  output: "text" | "json";
  namespace: string;
  routerNamespace: string;
  metallbNamespace: string;
}

interface Cleaning {
  readonly kind: Kind;
  readonly object: KubeObject;
  readonly action: "delete" | "removeCondition" | "markUnknown";
  run(signal: AbortSignal): Promise<unknown>;
}

const DONE = { delete: "deleted", removeCondition: `condition ${announcedType} removed`, markUnknown: "marked Unknown" } as const;
const POLL_MS = 1_000;

export function configure(command: Command): void {
  withConnection(command)
    .option("--statuses", "remove the reports of agents and controllers")
    .option("--dry-run", "only print what would be done")
    .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text"))
    .option("--namespace <name>", "namespace of Plumbline's own objects", "plumbline-system")
    .option("--router-namespace <name>", "namespace of the router's statuses", "openperouter-system")
    .option("--metallb-namespace <name>", "namespace of the load balancer's statuses", "metallb-system")
    .addHelpText(
      "after",
      `
For a cluster after uninstalling Plumbline: its last reports are outdated. Deletes the reports of routers and speakers and the agents' Leases, removes the
condition ${announcedType} from Services, and marks the checks of nodes Unknown. Configuration and the statuses of FailoverPolicies stay. Does nothing while
an agent or a controller renews its Lease: it would report again.

Examples:
  plumbline clean --statuses --dry-run
  plumbline clean --statuses
`,
    )
    .action(run);
}

async function run({ statuses = false, dryRun = false, output, ...options }: CleanOptions): Promise<void> {
  if (!statuses) throw new CliError("Nothing to clean given: use --statuses", EXIT.misuse);
  const { signal } = new AbortController();
  const client = await connect(options);
  try {
    if (!dryRun) await assertNothingRuns(client, options.namespace, signal);
    const items: object[] = [];
    for (const cleaning of await cleanings(client, options, signal)) {
      const { kind, object, action } = cleaning;
      const { name, namespace = "" } = object.metadata;
      if (!dryRun && !(await done(cleaning, signal))) continue;
      items.push({ kind: kind.kind, name, namespace, action, done: !dryRun });
      if (output === "text") {
        const result = dryRun ? `would be ${DONE[action]}` : DONE[action];
        process.stdout.write(stripControlCharacters(`${kind.kind} ${namespace}/${name} ${result}`) + "\n");
      }
    }
    if (output === "json") printItems("CleanedStatus", items);
    else if (items.length === 0) process.stdout.write("No Plumbline reports found in this cluster.\n");
  } finally {
    client.close();
  }
}

/** Returns whether it was done: a server may reject one removal and accept the next. */
async function done(cleaning: Cleaning, signal: AbortSignal): Promise<boolean> {
  const { kind, object } = cleaning;
  try {
    await cleaning.run(signal);
    return true;
  } catch (error) {
    if (isKubeError(error, "NotFound")) return false;
    if (!isKubeError(error) || exitCodeOf(error) === EXIT.unknown) throw error;
    failWith(`${kind.kind} ${object.metadata.namespace ?? ""}/${object.metadata.name}: ${error.message}`, EXIT.no);
    return false;
  }
}

async function assertNothingRuns(client: KubeClient, namespace: string, signal: AbortSignal): Promise<void> {
  const read = async () => {
    const agents = await found(client, Lease, { namespace, labelSelector: agentSelector }, signal);
    const leader = await found(client, Lease, { namespace, fieldSelector: `metadata.name=${CONTROLLER_LEASE}` }, signal);
    return [...agents, ...leader].filter(({ spec }) => (spec.holderIdentity ?? "") !== "");
  };
  const before = await read();
  if (before.length === 0) return;
  const waitMs = Math.max(...before.map(({ spec }) => spec.leaseDurationSeconds ?? 30)) * 1000;
  process.stderr.write(
    `Watching ${plural(before.length, "Lease")} for ${waitMs / 1000}s: nothing is removed while agents or controllers run\n`,
  );
  const renewals = new Map(before.map(({ metadata, spec }) => [metadata.name, spec.renewTime]));
  const end = performance.now() + waitMs;
  do {
    await sleep(Math.min(POLL_MS, waitMs), signal);
    const renewed = (await read()).find(({ metadata, spec }) => renewals.get(metadata.name) !== spec.renewTime);
    if (!renewed) continue;
    const node = nodeOfLease(renewed);
    const who = node === undefined ? `Controller ${renewed.spec.holderIdentity}` : `The agent on node ${node}`;
    throw new CliError(`${who} is running and would report again: run helm uninstall plumbline -n ${namespace} first`, EXIT.no);
  } while (performance.now() < end);
}

async function cleanings(
  client: KubeClient,
  { namespace, routerNamespace, metallbNamespace }: Pick<CleanOptions, "namespace" | "routerNamespace" | "metallbNamespace">,
  signal: AbortSignal,
): Promise<Cleaning[]> {
  const deletions = async <T extends KubeObject>(kind: Kind<T>, where: object, isOurs: (object: T) => boolean): Promise<Cleaning[]> =>
    (await found(client, kind, where, signal)).filter(isOurs).map((object) => ({
      kind: kind as unknown as Kind,
      object,
      action: "delete",
      run: (limited) => client.resource(kind).delete(object.metadata, { ...versionOf(object.metadata), signal: limited }),
    }));
  const inMetallb = { namespace: metallbNamespace };
  return [
    ...(await deletions(RouterNodeConfigurationStatus, { namespace: routerNamespace }, ofNode)),
    ...(await deletions(
      ConfigurationState,
      inMetallb,
      (state) => ofNode(state) || state.metadata.name === configurationStateName({ type: "controller" }),
    )),
    ...(await deletions(ConfigurationStatus, inMetallb, ({ metadata }) => metadata.name === configurationStatusName)),
    ...(await deletions(BGPSessionStatus, inMetallb, ofNode)),
    ...(await deletions(ServiceBGPStatus, {}, ofNode)),
    ...(await deletions(ServiceL2Status, {}, ofNode)),
    ...(await announcedServices(client, signal)),
    ...(await checksOfNodes(client, namespace, signal)),
    ...(await deletions(Lease, { namespace, labelSelector: agentSelector }, (lease) => nodeOfLease(lease) !== undefined)),
  ];
}

function ofNode({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[nodeAnnotation] !== undefined;
}

async function announcedServices(client: KubeClient, signal: AbortSignal): Promise<Cleaning[]> {
  return (await found(client, Service, {}, signal)).flatMap((object): Cleaning[] => {
    const current = object.status?.conditions ?? [];
    const conditions = current.filter(({ type }) => type !== announcedType);
    if (conditions.length === current.length) return [];
    const { resourceVersion } = versionOf(object.metadata);
    const patch = { status: { conditions } };
    const write = (limited: AbortSignal) =>
      client.resource(Service).patchStatus(object.metadata, patch, { resourceVersion, signal: limited });
    return [{ kind: Service, object, action: "removeCondition", run: write }];
  });
}

async function checksOfNodes(client: KubeClient, namespace: string, signal: AbortSignal): Promise<Cleaning[]> {
  const message = "Plumbline was removed from the cluster: this check no longer runs; the rest of this status is the last report";
  return (await found(client, PodNetworkConnectivityCheck, { namespace }, signal)).flatMap((object): Cleaning[] => {
    const reachable = reachableOf(object);
    if (nodeOf(object, namespace) === undefined || !reachable || isStale(reachable)) return [];
    const current = object.status?.conditions ?? [];
    const marked = setCondition(current, { type: "Reachable", status: "Unknown", reason: "Stale", message });
    const patch = { status: { conditions: withTransitionTimes(marked, current, metaTime(new Date())) } };
    const { resourceVersion } = versionOf(object.metadata);
    const write = (limited: AbortSignal) =>
      client.resource(PodNetworkConnectivityCheck).patchStatus(object.metadata, patch, { resourceVersion, signal: limited });
    return [{ kind: PodNetworkConnectivityCheck, object, action: "markUnknown", run: write }];
  });
}

function versionOf({ uid = "", resourceVersion = "" }: ObjectMeta): { uid: string; resourceVersion: string } {
  return { uid, resourceVersion };
}

async function found<T extends KubeObject>(client: KubeClient, kind: Kind<T>, where: object, signal: AbortSignal): Promise<T[]> {
  try {
    return (await client.resource(kind).list({ ...where, signal })).items;
  } catch (error) {
    if (isKubeError(error, "NotFound")) return [];
    throw error;
  }
}
