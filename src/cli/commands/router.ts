import type { Command } from "commander";
import { createLog } from "../../kube/log.ts";
import { removals } from "../../router/uninstall.ts";
import { type RouterHostOptions, withRouterHostOptions } from "../shared/agent-options.ts";
import { clean } from "../shared/uninstall.ts";
import { frrOf, networkNamespaces } from "../shared/router-on-node.ts";

interface CleanOptions extends RouterHostOptions {
  yes?: boolean;
}

export function configure(command: Command): void {
  command.addHelpText("after", "\nExample:\n  plumbline router clean\n");
  const cleaning = command
    .command("clean")
    .description("Remove everything of the router from this machine: links, FRR, the namespace, state.");
  withRouterHostOptions(cleaning)
    .option("--yes", "remove it (default: only print what would be removed)")
    .addHelpText(
      "after",
      `
For decommissioning a machine. Stop the agent first, or it restores everything. Links that Plumbline did not create stay.

Examples:
  plumbline router clean
  plumbline router clean --yes
`,
    )
    .action(run);
}

async function run({ yes = false, ...hostOptions }: CleanOptions): Promise<void> {
  const { signal } = new AbortController();
  const frr = frrOf(hostOptions, createLog({ level: "warn", pretty: true }));
  const { stateDirectory, frrRunDirectory } = hostOptions;
  const found = await removals(
    { namespaces: networkNamespaces(hostOptions), stateDirectory, frrRunDirectory, stopFrr: () => frr.stop() },
    signal,
  );
  await clean(found, { what: "router", yes, signal });
}
