import type { Command } from "commander";
import { createLog } from "../../kube/log.ts";
import { removals } from "../../router/uninstall.ts";
import { type RouterPlaceOptions, withRouterPlace } from "../shared/agent-options.ts";
import { clean } from "../shared/uninstall.ts";
import { frrOf, placesOf } from "../shared/router-on-node.ts";

interface CleanOptions extends RouterPlaceOptions {
  yes?: boolean;
}

export function configure(command: Command): void {
  command.addHelpText("after", "\nExample:\n  plumbline router clean\n");
  const cleaning = command
    .command("clean")
    .description("Take away all that the router left on this machine: links, FRR, the namespace, what it remembers.");
  withRouterPlace(cleaning)
    .option("--yes", "do it; otherwise only say what would be done")
    .addHelpText(
      "after",
      `
For a machine that leaves. Stop the agent first: it would put everything back. Links that someone else made are left alone.

Examples:
  plumbline router clean
  plumbline router clean --yes
`,
    )
    .action(run);
}

async function run({ yes = false, ...place }: CleanOptions): Promise<void> {
  const { signal } = new AbortController();
  const frr = frrOf(place, createLog({ level: "warn", pretty: true }));
  const { stateDirectory, frrRunDirectory } = place;
  const found = await removals({ places: placesOf(place), stateDirectory, frrRunDirectory, stopFrr: () => frr.stop() }, signal);
  await clean(found, { what: "router", yes, signal });
}
