import type { Command } from "commander";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import { print } from "../../kube/printable.ts";
import { type Apply, applyToEmbedded, applyServerSide, resetToFile } from "../apply/apply-one.ts";
import { applyErrors } from "../apply/apply-one.ts";
import { connect, type ConnectionOptions, withConnection } from "../shared/connection.ts";
import { isEmbedded } from "../resources/embedded-api.ts";
import { CliError, EXIT, failWith } from "../shared/exit.ts";
import { readInputs, titleOf } from "../manifests/input.ts";
import { type ResolvedInput, resolveInputs } from "../manifests/resolve-inputs.ts";
import { stripControlCharacters } from "../print/columns.ts";
import { discover } from "../resources/discovery.ts";
import { labelOf } from "../resources/resolve.ts";
import { namespaceOf, type SelectionOptions, withNamespace } from "../resources/selection.ts";

interface ApplyOptions extends ConnectionOptions, SelectionOptions {
  filename: string[];
  forceConflicts?: boolean;
  reset?: boolean;
}

export function configure(command: Command): void {
  withConnection(withNamespace(command))
    .requiredOption("-f, --filename <path...>", "files or directories (recursive), or - for standard input")
    .option("--force-conflicts", "in a cluster: take over fields owned by other managers")
    .option("--reset", "with `plumbline up`: reset the named objects to their files")
    .addHelpText(
      "after",
      `
Uses server-side apply with field manager plumbline. \`plumbline up\` stores new objects in DIR/applied and never changes your files: a change to an
object from a file overrides the file until the file changes the same field.

Examples:
  plumbline apply -f red.yaml
  plumbline get l3vni red -n openperouter-system -o yaml | sed 's/vni: 100/vni: 101/' | plumbline apply -f -
  plumbline apply --reset -f red.yaml
`,
    )
    .action(run);
}

async function run(options: ApplyOptions): Promise<void> {
  const { signal } = new AbortController();
  const inputs = await readInputs(options.filename);
  const client = await connect(options);
  try {
    const resolved = resolveInputs(inputs, await discover(client, signal), namespaceOf(client, options), options.namespace);
    const apply = await howToApply(client, options, signal);
    for (const one of resolved) await applyOne(client, one, apply, signal);
  } finally {
    client.close();
  }
}

async function howToApply(client: KubeClient, options: ApplyOptions, signal: AbortSignal): Promise<Apply> {
  const embedded = await isEmbedded(client, signal);
  if (!options.reset) return embedded ? applyToEmbedded : applyServerSide(options.forceConflicts === true);
  if (embedded) return resetToFile;
  throw new CliError("--reset requires `plumbline up`: objects of a cluster have no file to reset to", EXIT.misuse);
}

/** A wrong object does not stop the others. */
async function applyOne(client: KubeClient, one: ResolvedInput, apply: Apply, signal: AbortSignal): Promise<void> {
  const { input, resource, namespace } = one;
  const where = namespace === undefined ? {} : { namespace };
  const object = { ...input.object, metadata: { ...input.object.metadata, ...where } };
  try {
    const outcome = await apply(client, resource, object, signal);
    print(`${labelOf(resource)}/${stripControlCharacters(object.metadata.name)} ${outcome}\n`);
  } catch (error) {
    if (!isKubeError(error)) throw error;
    const errors = applyErrors(error);
    if (!errors) throw error;
    for (const { field, sentence } of errors) failWith(`${input.file}:${input.lineOf(field)}: ${titleOf(object)}: ${sentence}`, EXIT.no);
  }
}
