import type { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import type { Node } from "../../api/core/node.ts";
import type { Service } from "../../api/core/service.ts";
import type { BGPSessionStatus } from "../../api/metallb/bgp-session-status.ts";
import type { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import type { ServiceBGPStatus } from "../../api/metallb/service-bgp-status.ts";
import type { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import { dashboardModel } from "../server/dashboard-server.ts";
import type { DashboardModel } from "../model/model.ts";

/** Objects for tests of the page. */

export const CONFIG_NAMESPACES = { routerNamespace: "openperouter-system", metallbNamespace: "metallb-system" };
export const SINCE = "2026-11-16T12:00:00Z";

export function modelOf(): DashboardModel {
  return dashboardModel(CONFIG_NAMESPACES);
}

export function node(name: string): Node {
  return { metadata: { name }, spec: {} };
}

const condition = (type: string, status: "True" | "False" | "Unknown", reason: string, message = "") => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: SINCE,
});

export function routerStatus(name: string, sessionState = "Established"): RouterNodeConfigurationStatus {
  const up = sessionState === "Established";
  return {
    metadata: { name, namespace: CONFIG_NAMESPACES.routerNamespace },
    status: {
      conditions: [
        condition("Ready", "True", "ConfigurationSuccessful", "Everything is applied"),
        condition("Degraded", "False", "NoFailures"),
        condition("SessionsEstablished", up ? "True" : "False", up ? "AllEstablished" : "SessionsDown"),
      ],
      resources: [
        { kind: "Underlay", name: "fabric", generation: 1, state: "Applied" },
        { kind: "L2VNI", name: "shop", generation: 1, state: "Applied" },
      ],
      sessions: [{ vrf: "default", neighbor: "192.168.11.1", state: sessionState, since: SINCE }],
      vnis: [{ vni: 110, type: "L2", vrf: "shop", state: "Up", macs: 3, vteps: 2 }],
    },
  } as unknown as RouterNodeConfigurationStatus;
}

export function pool(name: string): IPAddressPool {
  return {
    metadata: { name, namespace: CONFIG_NAMESPACES.metallbNamespace },
    spec: { addresses: ["192.0.2.0/24"], autoAssign: true, avoidBuggyIPs: false },
    status: { assignedIPV4: 2, availableIPV4: 254, services: 2, conditions: [condition("Exhausted", "False", "AddressesLeft")] },
  };
}

export function service(namespace: string, name: string, address = "192.0.2.1"): Service {
  return {
    metadata: { name, namespace, annotations: { "metallb.io/ip-allocated-from-pool": "edge" } },
    spec: {
      type: "LoadBalancer",
      clusterIP: "10.96.0.1",
      clusterIPs: ["10.96.0.1"],
      ipFamilies: ["IPv4"],
      ports: [{ port: 80, protocol: "TCP" }],
    },
    status: { loadBalancer: { ingress: [{ ip: address }] }, conditions: [condition("metallb.io/Announced", "True", "Announced")] },
  };
}

export function announcement(namespace: string, name: string, on: string, peers: readonly string[] = ["tor"]): ServiceBGPStatus {
  return {
    metadata: { name: `${name}-${on}`, namespace },
    status: { node: on, service: name, bgpPeers: [...peers], conditions: [condition("Reported", "True", "AgentReports")] },
  };
}

export function session(on: string, peer = "tor", bgpStatus = "Established"): BGPSessionStatus {
  return {
    metadata: { name: `${on}-${peer}`, namespace: CONFIG_NAMESPACES.metallbNamespace },
    status: { node: on, peer, bgpStatus, bfdStatus: "N/A", since: SINCE, conditions: [condition("Reported", "True", "AgentReports")] },
  };
}

export function check(
  name: string,
  source: string,
  targetEndpoint: string,
  reachable: "True" | "False" = "True",
): PodNetworkConnectivityCheck {
  const entry = { time: SINCE, success: reachable === "True", latency: "1.2345ms" };
  const reached = reachable === "True";
  return {
    metadata: { name, namespace: "shop" },
    spec: { sourcePod: source, targetEndpoint },
    status: {
      ...(reached
        ? { successes: [{ ...entry, reason: "ConnectDone" }] }
        : { failures: [{ ...entry, reason: "ConnectError" }], outages: [{ start: SINCE, message: "No route to host" }] }),
      conditions: [condition("Reachable", reachable, reached ? "TCPConnectSuccess" : "TCPConnectError", "as tried")],
    },
  };
}
