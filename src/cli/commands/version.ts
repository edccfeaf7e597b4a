import type { Command } from "commander";
import { printItems } from "../print/items.ts";
import { VERSION } from "../shared/version.ts";

export function configure(command: Command): void {
  command
    .option("-o, --output <format>", "json for scripts")
    .addHelpText("after", "\nExample:\n  plumbline version -o json\n")
    .action((options: { output?: string }) => {
      const item = { version: VERSION, node: process.version };
      if (options.output === "json") printItems("Version", [item]);
      else process.stdout.write(`plumbline ${item.version} (node ${item.node})\n`);
    });
}
