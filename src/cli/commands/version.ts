import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { printItems } from "../print/items.ts";

declare const PLUMBLINE_VERSION: string | undefined;

/** Set by the bundler; in a checkout it is read from package.json. */
export const VERSION: string =
  typeof PLUMBLINE_VERSION === "string"
    ? PLUMBLINE_VERSION
    : (JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8")) as { version: string }).version;

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
