import type { Command } from "commander";
import { configureCheck } from "./migration/check.ts";
import { configureReplaceCrds } from "./migration/replace-crds.ts";

export function configure(command: Command): void {
  command.addHelpText(
    "after",
    `
docs/migrate.md says how to move over node by node, and how to go back.

Examples:
  plumbline migrate check
  plumbline migrate crds --replace-status-crds
`,
  );
  configureCheck(
    command.command("check").description("Show what differs from MetalLB and OpenPERouter in this cluster, and what is in the way."),
  );
  configureReplaceCrds(command.command("crds").description("Put Plumbline's definitions in the place of theirs."));
}
