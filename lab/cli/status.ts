import { missingFeatureText } from "../machine/start.ts";
import type { NodeName } from "../net/topology.ts";
import { PodNetworkConnectivityCheck } from "../../src/api/connectivity/pod-network-connectivity-check.ts";
import { RouterNodeConfigurationStatus } from "../../src/api/openpe/router-node-configuration-status.ts";
import { accessFromKubeconfig } from "../../src/kube/client/access.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { Service } from "../../src/api/core/service.ts";
import { BGPSessionStatus } from "../../src/api/metallb/bgp-session-status.ts";
import { ConfigurationState } from "../../src/api/metallb/configuration-state.ts";
import { ServiceBGPStatus } from "../../src/api/metallb/service-bgp-status.ts";
import { ServiceL2Status } from "../../src/api/metallb/service-l2-status.ts";
import { type AnnouncedService, announcedServices, announcedText } from "./announced-services.ts";
import { METALLB_NAMESPACE, ROUTER_NAMESPACE } from "./api.ts";
import { reachabilityLines } from "./reachability.ts";
import { kernelTitle, type RunningLab } from "./running.ts";

/** What one node of the lab says of itself. */
interface NodeLine {
  readonly node: string;
  readonly conditions: string;
  readonly sessions: string;
}

/** `Ready=True Degraded=False` */
export function conditionsText({ status }: RouterNodeConfigurationStatus): string {
  return (status?.conditions ?? []).map(({ type, status }) => `${type}=${status}`).join(" ");
}

export async function labClient({ kubeconfig }: Pick<RunningLab, "kubeconfig">): Promise<KubeClient> {
  return new KubeClient(await accessFromKubeconfig({ path: kubeconfig }));
}

/** What is to be told of a running lab. */
interface LabLines {
  readonly nodes: readonly NodeLine[];
  readonly services: readonly AnnouncedService[];
  readonly checks: readonly PodNetworkConnectivityCheck[];
}

/** What the nodes of a running lab say of themselves and of what they reach, and what its services do. */
export async function labLines(lab: RunningLab, signal: AbortSignal): Promise<LabLines> {
  const client = await labClient(lab);
  try {
    const [nodes, services, checks] = await Promise.all([
      (lab.routers ? routerLines : speakerLines)(client, lab.topology.nodes, signal),
      servicesOf(client, signal),
      client.resource(PodNetworkConnectivityCheck).list({ signal }),
    ]);
    return { nodes, services, checks: checks.items };
  } finally {
    client.close();
  }
}

async function routerLines(client: KubeClient, nodes: readonly NodeName[], signal: AbortSignal): Promise<NodeLine[]> {
  const { items } = await client.resource(RouterNodeConfigurationStatus).list({ namespace: ROUTER_NAMESPACE, signal });
  return nodes.map((node) => {
    const found = items.find(({ metadata }) => metadata.name === node);
    const sessions = (found?.status?.sessions ?? []).map(({ neighbor, state }) => `${neighbor} ${state}`).join(", ");
    return { node, conditions: found ? conditionsText(found) : "no status yet", sessions };
  });
}

async function speakerLines(client: KubeClient, nodes: readonly NodeName[], signal: AbortSignal): Promise<NodeLine[]> {
  const where = { namespace: METALLB_NAMESPACE, signal };
  const states = (await client.resource(ConfigurationState).list(where)).items;
  const sessions = (await client.resource(BGPSessionStatus).list({ signal })).items;
  return nodes.map((node) => {
    const result = states.find(({ metadata }) => metadata.name === `speaker-${node}`)?.status?.result;
    const ofNode = sessions.filter(({ status }) => status?.node === node);
    return {
      node,
      conditions: result === undefined ? "no status yet" : `Configuration=${result}`,
      sessions: ofNode.map(({ status }) => `${status?.peer ?? ""} ${status?.bgpStatus ?? ""}`).join(", "),
    };
  });
}

async function servicesOf(client: KubeClient, signal: AbortSignal): Promise<AnnouncedService[]> {
  const [services, overBgp, overL2] = await Promise.all([
    client.resource(Service).list({ signal }),
    client.resource(ServiceBGPStatus).list({ signal }),
    client.resource(ServiceL2Status).list({ signal }),
  ]);
  return announcedServices({ services: services.items, overBgp: overBgp.items, overL2: overL2.items });
}

export function statusTable(lab: RunningLab, { nodes, services, checks }: LabLines): string {
  const width = Math.max(...nodes.map(({ conditions }) => conditions.length), "CONDITIONS".length) + 3;
  return [
    `Running on ${kernelTitle(lab.kernel)}, API at ${lab.url}`,
    ...lab.kernel.missing.map((feature) => `This kernel ${missingFeatureText(feature)}`),
    `KUBECONFIG=${lab.kubeconfig}`,
    `Logs in ${lab.directory}`,
    ...(lab.page === undefined ? [] : [lab.page]),
    "",
    `${"NODE".padEnd(8)}${"CONDITIONS".padEnd(width)}SESSIONS`,
    ...nodes.map(({ node, conditions, sessions }) => `${node.padEnd(8)}${conditions.padEnd(width)}${sessions}`.trimEnd()),
    ...(services.length > 0 ? ["", ...services.map((service) => `Service ${announcedText(service)}`)] : []),
    ...(checks.length > 0 ? ["", ...reachabilityLines(checks, Date.now())] : []),
  ].join("\n");
}
