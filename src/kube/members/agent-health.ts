import { Lease } from "../../api/core/lease.ts";
import type { Condition } from "../../api/kind.ts";
import { type Explainer, explainer, type Fix, type HealthStatement, type Component } from "../../api/health.ts";
import { waitingOf } from "./agent-lease.ts";

export function agentComponent(node: string): Component {
  return { kind: "Agent", name: node };
}

export function agentHealth(node: string, conditions: readonly Condition[] | undefined): HealthStatement[] {
  const marked = conditions?.find(({ status, reason }) => status === "Unknown" && reason === "AgentNotReporting");
  if (!marked) return [];
  return notReportingAgent(node, /has not reported since (\S+?);/.exec(marked.message)?.[1] ?? marked.lastTransitionTime);
}

export function notReportingAgent(node: string, since: string): HealthStatement[] {
  const agent = agentComponent(node);
  return [
    {
      component: agent,
      domain: "cluster",
      health: "Unknown",
      reason: "AgentNotReporting",
      message: `Agent on node ${node} has not reported since ${since}`,
      since,
      ownFault: true,
      fix: checkAgentFix(node),
    },
    { component: { kind: "Node", name: node }, domain: "cluster", health: "Healthy", dependencies: [{ component: agent, as: "part" }] },
  ];
}

/** For an agent that was started and has not read all it needs: it does nothing until then. */
export const agentWaits: Explainer = explainer(Lease, (lease): HealthStatement[] => {
  const waiting = waitingOf(lease);
  if (!waiting) return [];
  const { node, kinds, since } = waiting;
  const agent = agentComponent(node);
  return [
    {
      component: agent,
      domain: "cluster",
      health: "Down",
      reason: "AgentWaits",
      message: `Agent on node ${node} waits for read access to ${kinds}`,
      ...(since !== undefined && { since }),
      ownFault: true,
      fix: {
        text: "grant the agent's ServiceAccount the roles of the chart; the agent's log says why the read fails",
        command: `plumbline doctor`,
      },
    },
    { component: { kind: "Node", name: node }, domain: "cluster", health: "Healthy", dependencies: [{ component: agent, as: "part" }] },
  ];
});

/** For a component that no agent has ever reported: `plumbline up` without it, or a cluster without agents. */
export function noAgentRuns(part: "router" | "loadbalancer", title: string, effect: string): HealthStatement {
  return {
    component: { kind: "Agents", name: part },
    domain: part,
    health: "Unknown",
    reason: "NoAgent",
    message: `No agent runs the ${title}: ${effect}`,
    ownFault: true,
    fix: { text: `deploy the agents, or on a single machine run \`plumbline up --${part}\` as root` },
  };
}

export function checkAgentFix(node: string): Fix {
  return {
    text: `check that node ${node} and the agent on it are running: its pod in a cluster, its process and log elsewhere`,
    command: `plumbline describe node ${node}`,
  };
}
