import { createSocket } from "node:dgram";
import { createServer } from "node:net";
import { fail, type CheckFinding, ok, warn } from "./finding.ts";

export interface PortsInUse {
  /** `/livez`, `/readyz` and `/metrics` of the agent. */
  readonly health: number;
  /** UDP between agents. */
  readonly heartbeat: number;
  /** Used by MetalLB's speakers. */
  readonly memberlist: number;
}

export const PORTS: PortsInUse = { health: 8081, heartbeat: 7947, memberlist: 7946 };

/** Binds each port for a moment. Ports of a running agent count as free. */
export async function freePorts({ health, heartbeat, memberlist }: PortsInUse, isOurs: () => Promise<boolean>): Promise<CheckFinding[]> {
  const [healthFree, heartbeatFree, memberlistFree] = [await tcp(health), await udp(heartbeat), await tcp(memberlist)];
  const ours = !healthFree && (await isOurs());
  const owner = "used by the agent that runs here";
  return [
    healthFree || ours
      ? ok(`port ${health}/tcp`, ours ? `Health and metrics of the agent: ${owner}` : "Free, for health and metrics of the agent")
      : fail(
          `port ${health}/tcp`,
          "Another process uses the port: the agent's health and metrics would not start",
          "stop it, or choose another port: --health-address, agent.healthPort in the chart",
        ),
    heartbeatFree || ours
      ? ok(`port ${heartbeat}/udp`, ours ? `Heartbeats: ${owner}` : "Free, for heartbeats between agents; allow it between nodes")
      : fail(
          `port ${heartbeat}/udp`,
          "Another process uses the port: heartbeats between agents would fail",
          `stop it; find it with ss -lunp 'sport = :${heartbeat}'`,
        ),
    memberlistFree
      ? ok(`port ${memberlist}/tcp`, "No MetalLB speaker is running here")
      : warn(
          `port ${memberlist}/tcp`,
          "A MetalLB speaker seems to be running here: two load balancers would serve the same Services",
          "migrate node by node, see docs/migrate.md, or give one of them a loadBalancerClass",
        ),
  ];
}

function tcp(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ port, host: "::", ipv6Only: false }, () => server.close(() => resolve(true)));
  });
}

function udp(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket("udp4");
    socket.once("error", () => {
      socket.close();
      resolve(false);
    });
    socket.bind(port, () => socket.close(() => resolve(true)));
  });
}
