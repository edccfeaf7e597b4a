import { readdir } from "node:fs/promises";
import { setFlagsFromString } from "node:v8";
import type { Command } from "commander";
import { Node } from "../../api/core/node.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import { Manager } from "../../kube/controller/manager.ts";
import { createLog, type Log } from "../../kube/log.ts";
import {
  type CheckOptions,
  type LoadBalancerHostOptions,
  type RouterHostOptions,
  withChecks,
  withLoadBalancer,
  withNode,
  withHeartbeat,
  withFeatureFlag,
  withRouterHostOptions,
} from "../shared/agent-options.ts";
import { addAgentComponents } from "../shared/agent-components.ts";
import { type ClusterOptions, connectToCluster, withCluster } from "../shared/connection.ts";
import { type LogLevel, withLogLevel } from "../shared/log-level.ts";

interface AgentOptions extends ClusterOptions, RouterHostOptions, LoadBalancerHostOptions, CheckOptions {
  node: string;
  namespace: string;
  routerNamespace: string;
  router: "on" | "off";
  loadbalancer: "on" | "off";
  connectivity: "on" | "off";
  frrStart?: boolean;
  heartbeatInterval?: number;
  healthAddress: string;
  logLevel: LogLevel;
}

/** An agent runs on every node and is nearly always idle: a smaller heap, and no compiler that takes 10 MiB to save milliseconds. */
const FRUGAL = ["--optimize-for-size", "--no-turbofan"];

export function configure(command: Command): void {
  withFeatureFlag(command, "router", "run the router of this machine");
  withFeatureFlag(command, "loadbalancer", "announce Services of type LoadBalancer");
  withFeatureFlag(command, "connectivity", "run the connectivity checks of this node");
  withLogLevel(withHeartbeat(withChecks(withLoadBalancer(withRouterHostOptions(withNode(withCluster(command)))))))
    .option("--namespace <name>", "namespace of Plumbline's own objects", "plumbline-system")
    .option("--router-namespace <name>", "namespace of the router's configuration and statuses", "openperouter-system")
    .option("--frr-start", "start FRR and keep it running (default: FRR is started elsewhere)")
    .option("--health-address <address>", "address for /livez, /readyz and /metrics", ":8081")
    .addHelpText(
      "after",
      `
Needs root. When the agent stops, the router and the announcements stay, and the next agent takes them over: BGP sessions stay up, layer 2 addresses stay
for two minutes. To remove the router, run \`plumbline router clean\`.

Examples:
  plumbline agent --kubeconfig agent.kubeconfig --frr-start
  plumbline agent --router off --frr-start --lb-class example.com/edge
  plumbline agent --node worker-1 --health-address 127.0.0.1:8081 --log-level debug
`,
    )
    .action(run);
}

async function run({
  logLevel,
  healthAddress,
  node,
  namespace,
  routerNamespace,
  router,
  loadbalancer,
  connectivity,
  frrStart = false,
  heartbeatInterval,
  ...options
}: AgentOptions): Promise<void> {
  for (const flag of FRUGAL) setFlagsFromString(flag);
  const log = createLog({ level: logLevel }).child({ node });
  const client = await connectToCluster(options);
  const away = !(await answers(client, node, { hasRunBefore: () => hasRunBefore(options.stateDirectory), log }));
  const manager = new Manager({ client, log, healthAddress });
  const agent = addAgentComponents({
    manager,
    client,
    log,
    node,
    namespace,
    metallbNamespace: options.metallbNamespace,
    hostOptions: options,
    startFrr: frrStart,
    ...(heartbeatInterval !== undefined && { heartbeatMs: heartbeatInterval }),
    ...(router === "on" && { routerNamespace }),
    ...(loadbalancer === "on" && { loadbalancer: options }),
    ...(connectivity === "on" && { checks: options }),
  });
  await agent.run(new AbortController().signal, away ? { restoreAfterMs: 0 } : {});
}

/**
 * Throws at once what a retry does not fix: an untrusted certificate, a missing right. An unreachable server is not an error, and an agent
 * that has run before continues with its saved state.
 */
async function answers(
  client: KubeClient,
  node: string,
  { hasRunBefore, log }: { hasRunBefore: () => Promise<boolean>; log: Log },
): Promise<boolean> {
  try {
    await client.resource(Node).get(node, { signal: AbortSignal.timeout(10_000) });
    return true;
  } catch (error) {
    if (isKubeError(error, "NotFound")) return true;
    if (!isKubeError(error, "Unauthorized", "Forbidden")) return false;
    if (await hasRunBefore()) {
      log.error({ error }, "API server denied access; keeping the last applied state");
      return false;
    }
    client.close();
    throw error;
  }
}

async function hasRunBefore(stateDirectory: string): Promise<boolean> {
  const names = await readdir(stateDirectory).catch(() => []);
  return names.some((name) => name.endsWith(".json"));
}
