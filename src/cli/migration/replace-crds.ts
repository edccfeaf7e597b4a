import type { Command } from "commander";
import { print } from "../../kube/printable.ts";
import { crdOf, CustomResourceDefinition } from "../../api/crds/crd.ts";
import { CUSTOM_KINDS } from "../../api/crds/kinds.ts";
import { type ClusterOptions, connectToCluster, withCluster } from "../shared/connection.ts";
import { CliError, EXIT } from "../shared/exit.ts";
import { isForeignStatus, ourDefinition } from "./definitions.ts";
import type { StoredDefinition } from "./inventory.ts";

const FIELD_MANAGER = "plumbline-migrate";

export function configureReplaceCrds(command: Command): void {
  withCluster(command)
    .option("--replace-status-crds", "replace the status CRDs of other programs too; fields that Plumbline does not know are lost")
    .addHelpText(
      "after",
      `
Stop the controllers of MetalLB and OpenPERouter first, see docs/migrate.md. Deletes no object.

Example:
  plumbline migrate crds --replace-status-crds
`,
    )
    .action(run);
}

async function run({ replaceStatusCrds = false, ...options }: ClusterOptions & { replaceStatusCrds?: boolean }): Promise<void> {
  const client = await connectToCluster(options);
  const signal = AbortSignal.timeout(120_000);
  try {
    const crds = client.resource(CustomResourceDefinition);
    const stored = (await crds.list({ signal })).items as readonly unknown[] as readonly StoredDefinition[];
    const foreign = stored.filter((definition) => {
      const ours = ourDefinition(definition);
      return ours !== undefined && isForeignStatus(definition, ours);
    });
    if (foreign.length > 0 && !replaceStatusCrds) {
      const names = foreign.map(({ metadata }) => metadata.name).join(", ");
      throw new CliError(
        `${names} ${foreign.length === 1 ? "defines" : "define"} reports of another program; replace them with --replace-status-crds`,
        EXIT.no,
      );
    }
    for (const crd of CUSTOM_KINDS.map(crdOf)) {
      const { name } = crd.metadata;
      const before = stored.find(({ metadata }) => metadata.name === name);
      // The server rejects strategy None with a webhook beside it, and an apply does not remove fields of another manager.
      if (before?.spec.conversion?.strategy === "Webhook") {
        await crds.patch({ name }, { spec: { conversion: { strategy: "None", webhook: null } } }, { signal });
      }
      const { metadata } = await crds.apply(crd, { fieldManager: FIELD_MANAGER, force: true, signal });
      const changed =
        before === undefined ? "created" : before.metadata.resourceVersion === metadata.resourceVersion ? "unchanged" : "replaced";
      print(`${name} ${changed}\n`);
    }
  } finally {
    client.close();
  }
}
