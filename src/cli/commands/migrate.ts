import { type Command, Option } from "commander";
import { configureConvert } from "../migration/convert.ts";
import { print } from "../../kube/printable.ts";
import { type ClusterOptions, connectToCluster, withCluster } from "../shared/connection.ts";
import { CliError, EXIT, failWith } from "../shared/exit.ts";
import { failureLine } from "../print/failure-line.ts";
import { printItems } from "../print/items.ts";
import { type Colorize, colorizeFor } from "../print/color.ts";
import { CLASSES, type MigrationDifference } from "../migration/difference.ts";
import { differences, type MigrationOptions } from "../migration/differences.ts";
import { readInventory, type StoredDefinition } from "../migration/inventory.ts";
import { plural } from "../../util/text.ts";
import { crdOf, CustomResourceDefinition } from "../../api/crds/crd.ts";
import { CUSTOM_KINDS } from "../../api/crds/kinds.ts";
import { isForeignStatus, ourDefinition } from "../migration/definitions.ts";

export function configure(command: Command): void {
  command.addHelpText(
    "after",
    `
See docs/migrate.md for migrating node by node, and back.

Examples:
  plumbline migrate check
  plumbline migrate crds --replace-status-crds
  plumbline migrate convert -f site --to main
`,
  );
  configureCheck(
    command.command("check").description("List differences to MetalLB and OpenPERouter in this cluster, and what blocks a migration."),
  );
  configureReplaceCrds(command.command("crds").description("Replace the CRDs of MetalLB and OpenPERouter with Plumbline's."));
  configureConvert(
    command.command("convert").description("Print manifests of the router in the fields of another version of OpenPERouter."),
  );
}

interface CheckOptions extends ClusterOptions, Partial<MigrationOptions> {
  metallbNamespace: string;
  routerNamespace: string;
  output: "text" | "json";
}

function configureCheck(command: Command): void {
  withCluster(command)
    .option("--metallb-namespace <name>", "namespace of the load balancer's configuration", "metallb-system")
    .option("--router-namespace <name>", "namespace of the router's configuration", "openperouter-system")
    .option("--lb-class <class>", "loadBalancerClass of Plumbline's controller")
    .option("--replace-status-crds", "plan to replace the status CRDs of other programs too; fields that Plumbline does not know are lost")
    .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text"))
    .addHelpText(
      "after",
      `
Read-only. Exit code 1 while something blocks the migration.

Examples:
  plumbline migrate check
  plumbline migrate check --replace-status-crds -o json
`,
    )
    .action(run);
}

async function run({ output, replaceStatusCrds = false, ...options }: CheckOptions): Promise<void> {
  const client = await connectToCluster(options);
  try {
    const inventory = await readInventory(client, options, AbortSignal.timeout(120_000));
    const found = differences(inventory, { ...options, replaceStatusCrds });
    if (output === "json") printItems("Difference", found);
    else print(report(found, colorizeFor(process.stdout)));
    for (const what of inventory.unreadable) failWith(`Could not read ${what}`, EXIT.unknown);
    if (found.some((one) => one.class === "Blocks")) process.exitCode = EXIT.no;
  } finally {
    client.close();
  }
}

function report(found: readonly MigrationDifference[], colorize: Colorize): string {
  const lines: string[] = [];
  for (const [what, group] of Map.groupBy(found, (one) => one.class)) {
    lines.push(colorize("bold", `${CLASSES[what]}:`), ...group.map((one) => `  ${failureLine(one)}`), "");
  }
  const all = found.filter((one) => one.class !== "Version").length;
  const blocking = found.filter((one) => one.class === "Blocks").length;
  const verdict =
    blocking > 0
      ? colorize("red", `${blocking} of ${plural(all, "difference is", "differences are")} in the way`)
      : colorize("green", `${plural(all, "difference")}, none of them in the way`);
  return [...lines, verdict, ""].join("\n");
}

const FIELD_MANAGER = "plumbline-migrate";

function configureReplaceCrds(command: Command): void {
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
    .action(replaceCrds);
}

async function replaceCrds({ replaceStatusCrds = false, ...options }: ClusterOptions & { replaceStatusCrds?: boolean }): Promise<void> {
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
