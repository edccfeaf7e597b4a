import type { Command } from "commander";
import { configureCheck } from "../migration/check.ts";
import { configureReplaceCrds } from "../migration/replace-crds.ts";

export function configure(command: Command): void {
  command.addHelpText(
    "after",
    `
See docs/migrate.md for migrating node by node, and back.

Examples:
  plumbline migrate check
  plumbline migrate crds --replace-status-crds
`,
  );
  configureCheck(
    command.command("check").description("List differences to MetalLB and OpenPERouter in this cluster, and what blocks a migration."),
  );
  configureReplaceCrds(command.command("crds").description("Replace the CRDs of MetalLB and OpenPERouter with Plumbline's."));
}
