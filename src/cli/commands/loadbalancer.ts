import type { Command } from "commander";
import { createLog } from "../../kube/log.ts";
import { removals } from "../../loadbalancer/uninstall.ts";
import { type LoadBalancerOptions, type RouterPlaceOptions, withLoadBalancerPlace } from "../shared/agent-options.ts";
import { clean } from "../shared/uninstall.ts";
import { loadBalancerFrr } from "../shared/loadbalancer-on-node.ts";

type CleanOptions = Pick<RouterPlaceOptions, "hostNetns" | "stateDirectory" | "frrRoot"> &
  Pick<LoadBalancerOptions, "lbFrrRunDirectory"> & { yes?: boolean };

export function configure(command: Command): void {
  command.addHelpText("after", "\nExample:\n  plumbline loadbalancer clean\n");
  withLoadBalancerPlace(
    command
      .command("clean")
      .description("Take away all that the load balancer left on this machine: FRR, service addresses, nftables, what it remembers."),
  )
    .option("--yes", "do it; otherwise only say what would be done")
    .addHelpText(
      "after",
      `
For a machine that leaves. Stop the agent first: it would put everything back. Services stop being announced from here.

Examples:
  plumbline loadbalancer clean
  plumbline loadbalancer clean --yes
`,
    )
    .action(run);
}

async function run({ yes = false, ...place }: CleanOptions): Promise<void> {
  const { signal } = new AbortController();
  const { hostNetns, stateDirectory, lbFrrRunDirectory } = place;
  const frr = loadBalancerFrr(place, place, createLog({ level: "warn", pretty: true }));
  const found = await removals({ netns: hostNetns, stateDirectory, frrRunDirectory: lbFrrRunDirectory, stopFrr: () => frr.stop() }, signal);
  await clean(found, { what: "load balancer", yes, signal });
}
