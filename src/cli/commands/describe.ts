import type { Command } from "commander";
import { stringify } from "yaml";
import { Event } from "../../api/core/event.ts";
import type { KubeObject } from "../../api/kind.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import { print, printError } from "../../kube/printable.ts";
import { connect, type ConnectionOptions, snapshotTime, withReadSource } from "../shared/connection.ts";
import { type Described, describeObject } from "../describe/describe-object.ts";
import { declarationOf, isEmbedded } from "../resources/embedded-api.ts";
import { EXIT, failWith } from "../shared/exit.ts";
import { colorizeFor } from "../print/color.ts";
import { read } from "../get/read.ts";
import { nameView } from "../get/view.ts";
import type { Resource } from "../resources/discovery.ts";
import { emptyListHint } from "../resources/hints.ts";
import { select, type ResourceSelection, type SelectionOptions, withSelection } from "../resources/selection.ts";

export function configure(command: Command): void {
  withReadSource(withSelection(command))
    .argument("<kind>", "kind, plural, short name or category, comma-separated; or KIND/NAME")
    .argument("[names...]", "names of the objects")
    .addHelpText("after", "\nExample:\n  plumbline describe l3vni red -n openperouter-system\n")
    .action((kind: string, names: string[], options: ConnectionOptions & SelectionOptions) => run([kind, ...names], options));
}

async function run(args: readonly string[], options: ConnectionOptions & SelectionOptions): Promise<void> {
  const { signal } = new AbortController();
  const client = await connect(options);
  try {
    const selections = await select(client, args, options, signal);
    const embedded = await isEmbedded(client, signal);
    let printed = 0;
    for (const selection of selections) printed += await describeSelection(client, selection, embedded, printed, signal);
    const [first] = selections;
    if (printed === 0 && first && first.names.length === 0) printError(`${await emptyListHint(client, first, signal)}\n`);
  } finally {
    client.close();
  }
}

async function describeSelection(
  client: KubeClient,
  selection: ResourceSelection,
  embedded: boolean,
  printed: number,
  signal: AbortSignal,
): Promise<number> {
  const { items, missing } = await read(client, selection, nameView(), signal);
  for (const [at, object] of items.entries()) {
    const described = await gather(client, selection.resource, object, embedded, signal);
    const text = describeObject(described, { paint: colorizeFor(process.stdout), now: snapshotTime(client), yaml });
    print(printed + at === 0 ? text : `\n\n${text}`);
  }
  for (const sentence of missing) failWith(sentence, EXIT.no);
  return items.length;
}

async function gather(
  client: KubeClient,
  resource: Resource,
  object: KubeObject,
  embedded: boolean,
  signal: AbortSignal,
): Promise<Described> {
  const declared = embedded ? await declarationOf(client, resource, object.metadata, signal) : undefined;
  return { object, declared, events: await eventsOf(client, object, signal) };
}

async function eventsOf(client: KubeClient, { metadata, kind = "" }: KubeObject, signal: AbortSignal): Promise<Event[] | undefined> {
  const { name, namespace, uid } = metadata;
  const fields = { name, kind, ...(namespace && { namespace }), ...(uid && { uid }) };
  const fieldSelector = Object.entries(fields)
    .map(([field, value]) => `involvedObject.${field}=${value}`)
    .join(",");
  try {
    // Events of cluster-scoped objects are in the namespace default.
    return (await client.resource(Event).list({ namespace: namespace ?? "default", fieldSelector, signal })).items;
  } catch (error) {
    if (isKubeError(error, "Forbidden")) return undefined;
    throw error;
  }
}

function yaml(value: unknown): string {
  return stringify(value, { aliasDuplicateObjects: false, lineWidth: 0 });
}
