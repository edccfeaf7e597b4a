import type { Command } from "commander";
import { ensureNamespace } from "../../hostnet/namespaces.ts";
import { setSysctls } from "../../hostnet/sysctls.ts";
import { createLog } from "../../kube/log.ts";
import { FORWARDING } from "../../router/forwarding.ts";
import {
  lbFrrRunDirectory,
  type LoadBalancerOptions,
  ROUTER_PLACE,
  type RouterPlaceOptions,
  withPart,
  withRouterPlace,
} from "../shared/agent-options.ts";
import { FrrUnderUs } from "../shared/frr-supervisor.ts";
import { loadBalancerFrr } from "../shared/loadbalancer-on-node.ts";
import { type LogLevel, withLogLevel } from "../shared/log-level.ts";
import { frrOf } from "../shared/router-on-node.ts";
import { untilStopped } from "../shared/signals.ts";

interface RunOptions extends RouterPlaceOptions, Pick<LoadBalancerOptions, "lbFrrRunDirectory"> {
  router: "on" | "off";
  loadbalancer: "on" | "off";
  logLevel: LogLevel;
}

export function configure(command: Command): void {
  command.addHelpText("after", "\nExamples:\n  plumbline frr prepare\n  plumbline frr run\n");

  const running = command
    .command("run")
    .description("Start FRR and keep it running, apart from the agent: the two can then be replaced apart.");
  withPart(running, "router", "run the FRR of the router");
  withPart(running, "loadbalancer", "run the FRR of the load balancer");
  withLogLevel(withRouterPlace(running).addOption(lbFrrRunDirectory()))
    .addHelpText(
      "after",
      `
For where the agent runs without --frr-start, as in a cluster. A daemon that dies or hangs is started again with what it last had; only the agent changes
what it has. When this ends, the daemons go on as far as the container does, and the next run takes them over.

Examples:
  plumbline frr run
  plumbline frr run --router off
`,
    )
    .action(run);

  command
    .command("prepare")
    .description("Make the network namespace that the router runs in, and have it forward.")
    .option("--router-netns <name>", "the network namespace that the router runs in", ROUTER_PLACE.routerNetns)
    .addHelpText(
      "after",
      `
All that needs a privileged container, once for each start of a machine: neither FRR nor the agent has to be one then.

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
    const ours = new FrrUnderUs({ instance, log });
    ours.up().catch(() => undefined);
    await ours.run(stop.signal);
    instance.router.close();
  });
  await untilStopped();
  stop.abort();
  await Promise.all(running);
}

async function prepare({ routerNetns }: Pick<RouterPlaceOptions, "routerNetns">): Promise<void> {
  const signal = AbortSignal.timeout(60_000);
  await ensureNamespace(routerNetns, signal);
  await setSysctls(FORWARDING, routerNetns, signal);
}
