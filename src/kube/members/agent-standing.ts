import type { Condition } from "../../api/kind.ts";
import type { Remedy, Standing, Thing } from "../../api/standing.ts";

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

export function seeToAgent(node: string): Remedy {
  return {
    text: `see whether node ${node} runs, and on it the agent: its pod in a cluster, its process and log elsewhere`,
    command: `plumbline describe node ${node}`,
  };
}
