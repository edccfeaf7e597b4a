import type { Command } from "commander";
import type { KubeObject } from "../../api/kind.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import { print } from "../../kube/printable.ts";
import { connect, type ConnectionOptions, withConnection } from "../shared/connection.ts";
import { CliError, EXIT, exitCodeOf, failWith } from "../shared/exit.ts";
import { readInputs } from "../manifests/input.ts";
import { resolveInputs } from "../manifests/resolve-inputs.ts";
import { discover, type Resource } from "../resources/discovery.ts";
import { notFoundHint } from "../resources/hints.ts";
import { pathOf } from "../resources/path.ts";
import { labelOf } from "../resources/resolve.ts";
import { namespaceOf, select, type SelectionOptions, withNamespace } from "../resources/selection.ts";

interface DeleteOptions extends ConnectionOptions, SelectionOptions {
  filename?: string[];
}

interface Doomed {
  resource: Resource;
  namespace: string | undefined;
  name: string;
}

export function configure(command: Command): void {
  withConnection(withNamespace(command))
    .argument("[kind]", "kind, plural or short name; or KIND/NAME")
    .argument("[names...]", "names of the objects")
    .option("-f, --filename <path...>", "delete the objects of these files and directories, or - for standard input")
    .addHelpText(
      "after",
      `
To delete an object from a file of \`plumbline up\`, remove it from the file.

Examples:
  plumbline delete l3vni red -n openperouter-system
  plumbline delete -f red.yaml
`,
    )
    .action((kind: string | undefined, names: string[], options: DeleteOptions) =>
      run(kind === undefined ? [] : [kind, ...names], options),
    );
}

async function run(args: readonly string[], options: DeleteOptions): Promise<void> {
  if ((options.filename === undefined) === (args.length === 0)) {
    throw new CliError("Give a kind and names, or files with -f", EXIT.misuse);
  }
  const { signal } = new AbortController();
  const client = await connect(options);
  try {
    const doomed = options.filename
      ? await ofFiles(client, options.filename, options, signal)
      : await selectObjects(client, args, options, signal);
    for (const one of doomed) await deleteOne(client, one, signal);
  } finally {
    client.close();
  }
}

async function selectObjects(client: KubeClient, args: readonly string[], options: DeleteOptions, signal: AbortSignal): Promise<Doomed[]> {
  const selections = await select(client, args, options, signal);
  if (selections.some(({ names }) => names.length === 0)) throw new CliError("No names given: name the objects to delete", EXIT.misuse);
  return selections.flatMap(({ resource, namespace, names }) => names.map((name) => ({ resource, namespace, name })));
}

/** In the reverse order of apply: dependents first. */
async function ofFiles(client: KubeClient, paths: readonly string[], options: DeleteOptions, signal: AbortSignal): Promise<Doomed[]> {
  const discovered = await discover(client, signal);
  const resolved = resolveInputs(await readInputs(paths), discovered, namespaceOf(client, options), options.namespace);
  return resolved.map(({ resource, namespace, input }) => ({ resource, namespace, name: input.object.metadata.name })).reverse();
}

async function deleteOne(client: KubeClient, doomed: Doomed, signal: AbortSignal): Promise<void> {
  const { resource, name } = doomed;
  try {
    const left = await client.request<KubeObject>("DELETE", pathOf(resource, doomed), { signal, query: { fieldManager: "plumbline" } });
    print(`${labelOf(resource)}/${name} ${outcome(left)}\n`);
  } catch (error) {
    if (isKubeError(error, "NotFound")) return failWith(await notFoundHint(client, doomed, name, signal), EXIT.no);
    if (!isKubeError(error) || exitCodeOf(error) === EXIT.unknown) throw error;
    failWith(error.message, EXIT.no);
  }
}

/** The server answers with the object if finalizers keep it. */
function outcome({ kind, metadata }: KubeObject): string {
  if (kind === "Status" || !metadata.deletionTimestamp) return "deleted";
  const { finalizers = [] } = metadata;
  return finalizers.length > 0 ? `is being deleted; waiting for finalizers ${finalizers.join(", ")}` : "is being deleted";
}
