import type { Command } from "commander";
import { ensureNamespace } from "../../hostnet/namespaces.ts";
import { setSysctls } from "../../hostnet/sysctls.ts";
import { createLog } from "../../kube/log.ts";
import { ROUTER_SYSCTLS } from "../../router/apply-resource.ts";
import {
  lbFrrRunDirectory,
  type LoadBalancerHostOptions,
  ROUTER_HOST_DEFAULTS,
  type RouterHostOptions,
  withFeatureFlag,
  withRouterHostOptions,
} from "../shared/agent-options.ts";
import { ManagedFrr } from "../shared/frr-supervisor.ts";
import { loadBalancerFrr } from "../shared/loadbalancer-on-node.ts";
import { type LogLevel, withLogLevel } from "../shared/log-level.ts";
import { frrOf } from "../shared/router-on-node.ts";
import { untilStopped } from "../shared/signals.ts";

interface RunOptions extends RouterHostOptions, Pick<LoadBalancerHostOptions, "lbFrrRunDirectory"> {
  router: "on" | "off";
  loadbalancer: "on" | "off";
  logLevel: LogLevel;
}

export function configure(command: Command): void {
  command.addHelpText("after", "\nExamples:\n  plumbline frr prepare\n  plumbline frr run\n");

  const running = command
    .command("run")
    .description("Start FRR and keep it running, apart from the agent, so that each can be upgraded alone.");
  withFeatureFlag(running, "router", "run the FRR of the router");
  withFeatureFlag(running, "loadbalancer", "run the FRR of the load balancer");
  withLogLevel(withRouterHostOptions(running).addOption(lbFrrRunDirectory()))
    .addHelpText(
      "after",
      `
Use it where the agent runs without --frr-start, as in a cluster. A daemon that exits or hangs is restarted with its last configuration; only the agent
changes the configuration. When this command stops, the daemons keep running as long as the container does, and the next run takes them over.

Examples:
  plumbline frr run
  plumbline frr run --router off
`,
    )
    .action(run);

  command
    .command("prepare")
    .description("Create the router's network namespace and enable forwarding in it.")
    .option("--router-netns <name>", "network namespace of the router", ROUTER_HOST_DEFAULTS.routerNetns)
    .addHelpText(
      "after",
      `
The only step that needs a privileged container, once per boot: FRR and the agent then need none.

Example:
  plumbline frr prepare
`,
    )
    .action(prepare);
}

async function run({ router, loadbalancer, logLevel, ...options }: RunOptions): Promise<void> {
  const log = createLog({ level: logLevel });
  const stop = new AbortController();
  const instances = [
    ...(router === "on" ? [frrOf(options, log.child({ frr: "router" }))] : []),
    ...(loadbalancer === "on" ? [loadBalancerFrr(options, options, log.child({ frr: "loadbalancer" }))] : []),
  ];
  const running = instances.map(async (instance) => {
    const ours = new ManagedFrr({ instance, log });
    ours.up().catch(() => undefined);
    await ours.run(stop.signal);
    instance.router.close();
  });
  await untilStopped();
  stop.abort();
  await Promise.all(running);
}

async function prepare({ routerNetns }: Pick<RouterHostOptions, "routerNetns">): Promise<void> {
  const signal = AbortSignal.timeout(60_000);
  await ensureNamespace(routerNetns, signal);
  await setSysctls(ROUTER_SYSCTLS, routerNetns, signal);
}
