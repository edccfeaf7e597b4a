import { join } from "node:path";
import { Command } from "commander";

/** Commands of a checkout; they are in tools/ and not part of the shipped program. */
const TOOLS = {
  test: "run every suite; arguments choose files",
  soak: "inject random faults into the lab and check invariants (--minutes N), or move applications between two sites (--moves N)",
  check: "format, lint, types, import directions, style, unused code, generated files",
  style: "count what breaks the style rules, with the goals (CHECK [NAME] lists files, --write shrinks the list of exceptions)",
  generate: "regenerate the generated files",
  "complete-lock": "add entries that npm left out of package-lock.json",
  build: "bundle each program into dist/",
  release: "the archive of the kubectl plugin and its krew manifest, in dist-release/",
  bench: "run the benchmarks; arguments choose them",
} as const;

export function developCommands(checkout: string): Command[] {
  return Object.entries(TOOLS).map(([name, description]) =>
    new Command(name)
      .description(description)
      .allowUnknownOption()
      .allowExcessArguments()
      .helpOption(false)
      .argument("[arguments...]")
      .action(async (args: string[]) => {
        const tool = (await import(join(checkout, "tools", `${name}.ts`))) as { run(args: string[]): Promise<number> };
        process.exitCode = await tool.run(args);
      }),
  );
}
