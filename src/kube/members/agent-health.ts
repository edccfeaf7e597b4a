import { Lease } from "../../api/core/lease.ts";
import type { Condition } from "../../api/kind.ts";
import { type Explainer, explainer, type Remedy, type Standing, type Thing } from "../../api/health.ts";
import { waitingOf } from "./agent-lease.ts";

export function agentOn(node: string): Thing {
  return { kind: "Agent", name: node };
}

/** What a report says of the agent that it comes from, and of its node, once the janitor has marked it. Nothing while the agent speaks. */
export function agentSilence(node: string, conditions: readonly Condition[] | undefined): Standing[] {
  const marked = conditions?.find(({ status, reason }) => status === "Unknown" && reason === "AgentSilent");
  if (!marked) return [];
  return silentAgent(node, /silent since (\S+?);/.exec(marked.message)?.[1] ?? marked.lastTransitionTime);
}

export function silentAgent(node: string, since: string): Standing[] {
  const agent = agentOn(node);
  return [
    {
      thing: agent,
      domain: "cluster",
      health: "Unknown",
      reason: "AgentSilent",
      message: `The agent on node ${node} has been silent since ${since}`,
      since,
      ownFault: true,
      remedy: seeToAgent(node),
    },
    { thing: { kind: "Node", name: node }, domain: "cluster", health: "Healthy", needs: [{ thing: agent, as: "part" }] },
  ];
}

/** Of an agent that was started and has not read what it needs: it does nothing until then. */
export const agentWaits: Explainer = explainer(Lease, (lease): Standing[] => {
  const waiting = waitingOf(lease);
  if (!waiting) return [];
  const { node, kinds, since } = waiting;
  const agent = agentOn(node);
  return [
    {
      thing: agent,
      domain: "cluster",
      health: "Down",
      reason: "AgentWaits",
      message: `The agent on node ${node} waits until it can read: ${kinds}`,
      ...(since !== undefined && { since }),
      ownFault: true,
      remedy: {
        text: "give the agent's ServiceAccount the rights that the chart gives it, or see in the agent's log why they cannot be read",
        command: `plumbline doctor`,
      },
    },
    { thing: { kind: "Node", name: node }, domain: "cluster", health: "Healthy", needs: [{ thing: agent, as: "part" }] },
  ];
});

export function seeToAgent(node: string): Remedy {
  return {
    text: `see whether node ${node} runs, and on it the agent: its pod in a cluster, its process and log elsewhere`,
    command: `plumbline describe node ${node}`,
  };
}
