import type { Command } from "commander";
import { createLog } from "../../kube/log.ts";
import { removals } from "../../loadbalancer/speaker/uninstall.ts";
import { type LoadBalancerHostOptions, type RouterHostOptions, withLoadBalancerHostOptions } from "../shared/agent-options.ts";
import { clean } from "../shared/uninstall.ts";
import { loadBalancerFrr } from "../shared/loadbalancer-on-node.ts";

type CleanOptions = Pick<RouterHostOptions, "hostNetns" | "stateDirectory" | "frrRoot"> &
  Pick<LoadBalancerHostOptions, "lbFrrRunDirectory"> & { yes?: boolean };

export function configure(command: Command): void {
  command.addHelpText("after", "\nExample:\n  plumbline loadbalancer clean\n");
  withLoadBalancerHostOptions(
    command
      .command("clean")
      .description("Remove everything of the load balancer from this machine: FRR, service addresses, nftables, state."),
  )
    .option("--yes", "remove it (default: only print what would be removed)")
    .addHelpText(
      "after",
      `
For decommissioning a machine. Stop the agent first, or it restores everything. Services are no longer announced from here.

Examples:
  plumbline loadbalancer clean
  plumbline loadbalancer clean --yes
`,
    )
    .action(run);
}

async function run({ yes = false, ...hostOptions }: CleanOptions): Promise<void> {
  const { signal } = new AbortController();
  const { hostNetns, stateDirectory, lbFrrRunDirectory } = hostOptions;
  const frr = loadBalancerFrr(hostOptions, hostOptions, createLog({ level: "warn", pretty: true }));
  const found = await removals({ netns: hostNetns, stateDirectory, frrRunDirectory: lbFrrRunDirectory, stopFrr: () => frr.stop() }, signal);
  await clean(found, { what: "load balancer", yes, signal });
}
