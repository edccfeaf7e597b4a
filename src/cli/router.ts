import type { Command } from "commander";
import { createLog } from "../kube/log.ts";
import { removals } from "../router/clean.ts";
import { type RouterPlaceOptions, withRouterPlace } from "./agent-options.ts";
import { failWith, EXIT } from "./exit.ts";
import { frrOf, placesOf } from "./router-on-machine.ts";

interface CleanOptions extends RouterPlaceOptions {
  yes?: boolean;
}

export function configure(command: Command): void {
  command.addHelpText("after", "\nExample:\n  plumbline router clean\n");
  const clean = command
    .command("clean")
    .description("Take away all that the router left on this machine: links, FRR, the namespace, what it remembers.");
  withRouterPlace(clean)
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
  if (found.length === 0) process.stdout.write("There is nothing of the router on this machine.\n");
  for (const { says, run } of found) {
    process.stdout.write(says.map((line) => `${line}\n`).join(""));
    if (!yes) continue;
    try {
      await run(signal);
    } catch (error) {
      failWith(error instanceof Error ? error.message : String(error), EXIT.no);
    }
  }
  if (found.length > 0 && !yes) process.stdout.write("\nNothing is done yet. To do it: plumbline router clean --yes\n");
}
