import { hostname } from "node:os";
import { Command, InvalidArgumentError } from "commander";
import { Lease } from "../api/core/lease.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { isKubeError } from "../kube/client/error.ts";
import { Manager } from "../kube/controller/manager.ts";
import { LeaderElector } from "../kube/leader/leader.ts";
import { createLog } from "../kube/log.ts";
import { type ConnectionOptions, connect, withConnection } from "./connection.ts";
import { addControllerParts } from "./controller-parts.ts";

interface ControllerOptions extends ConnectionOptions {
  namespace: string;
  routerNamespace: string;
  agents?: string;
  healthAddress: string;
  identity: string;
  logLevel: LogLevel;
}

const LEASE = "plumbline-controller";
const LOG_LEVELS = ["error", "warn", "info", "debug"] as const;
type LogLevel = (typeof LOG_LEVELS)[number];

export function controllerCommand(): Command {
  return withConnection(new Command("controller"))
    .description(
      "Runs what a cluster needs once: claims, members, the janitor, webhooks. Two replicas; the leader by Lease does the writing.",
    )
    .option("--namespace <name>", "for Plumbline's own objects", "plumbline-system")
    .option("--router-namespace <name>", "where the router's configuration and statuses are", "openperouter-system")
    .option("--agents <daemonset>", "the DaemonSet of the agents; leave out where agents are no Pods")
    .option("--health-address <address>", "/livez, /readyz and /metrics are served here", ":8080")
    .option("--identity <name>", "who holds the Lease, for people to read", process.env["POD_NAME"] ?? hostname())
    .option("--log-level <level>", LOG_LEVELS.join(", "), logLevel, "info")
    .addHelpText("after", "\nExample:\n  plumbline controller --kubeconfig admin.kubeconfig --health-address 127.0.0.1:8080\n")
    .action(run);
}

async function run(options: ControllerOptions): Promise<void> {
  const log = createLog({ level: options.logLevel });
  const client = await connect(options);
  await assertUsable(client, options.namespace);

  const leader = new LeaderElector({ client, namespace: options.namespace, name: LEASE, identity: options.identity, log });
  const manager = new Manager({ client, log, leader, healthAddress: options.healthAddress });
  addControllerParts({
    manager,
    client: client.fenced(() => leader.assertLeading()),
    log,
    namespace: options.namespace,
    routerNamespace: options.routerNamespace,
    ...(options.agents === undefined ? {} : { agents: options.agents }),
    settle: (signal) => leader.settle(signal),
  });
  await manager.run(new AbortController().signal);
}

/** Says at once, in one sentence, what would otherwise be a retry in the log for ever: no server, no trust, no right. */
async function assertUsable(client: KubeClient, namespace: string): Promise<void> {
  try {
    await client.resource(Lease).get(LEASE, { namespace, signal: AbortSignal.timeout(30_000) });
  } catch (error) {
    if (isKubeError(error, "NotFound")) return;
    client.close();
    throw error;
  }
}

function logLevel(value: string): LogLevel {
  const level = LOG_LEVELS.find((level) => level === value);
  if (!level) throw new InvalidArgumentError(`It is one of ${LOG_LEVELS.join(", ")}.`);
  return level;
}
