import { type Command, Option } from "commander";
import type { KubeObject } from "../../api/kind.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { connect, type ConnectionOptions, withReadSource } from "../shared/connection.ts";
import { CliError, EXIT, failWith } from "../shared/exit.ts";
import { colorizeFor } from "../print/color.ts";
import { read, type GetResult } from "../get/read.ts";
import { jsonView, nameView, tableView, type ObjectView, yamlView } from "../get/view.ts";
import { emptyListHint } from "../resources/hints.ts";
import { labelOf } from "../resources/resolve.ts";
import { select, type ResourceSelection, type SelectionOptions, withSelection } from "../resources/selection.ts";

const FORMATS = ["table", "wide", "yaml", "json", "name"] as const;

interface GetOptions extends ConnectionOptions, SelectionOptions {
  output: (typeof FORMATS)[number];
  watch?: boolean;
}

export function configure(command: Command): void {
  withReadSource(withSelection(command))
    .argument("<kind>", "kind, plural, short name or category, comma-separated; or KIND/NAME")
    .argument("[names...]", "names of the objects")
    .addOption(new Option("-o, --output <format>", "output format").choices(FORMATS).default("table"))
    .option("-w, --watch", "watch, and print every change")
    .addHelpText(
      "after",
      `
Examples:
  plumbline get l3vni -A
  plumbline get ipaddresspool -n metallb-system -o wide
  plumbline get plumbline -A                          all Plumbline kinds
  plumbline get l3vni red -n openperouter-system -w   and its changes
`,
    )
    .action((kind: string, names: string[], options: GetOptions) => run([kind, ...names], options));
}

async function run(args: readonly string[], options: GetOptions): Promise<void> {
  const { signal } = new AbortController();
  const client = await connect(options);
  try {
    const selections = await select(client, args, options, signal);
    if (options.watch) await follow(client, selections, options, signal);
    else if (options.output === "table" || options.output === "wide") await showTables(client, selections, options, signal);
    else await showObjects(client, selections, await objectView(options.output, selections), signal);
  } finally {
    client.close();
  }
}

async function showTables(
  client: KubeClient,
  selections: readonly ResourceSelection[],
  options: GetOptions,
  signal: AbortSignal,
): Promise<void> {
  const texts: string[] = [];
  const all: GetResult<unknown>[] = [];
  for (const selection of selections) {
    const view = tableViewOf(selection, selections.length > 1, options);
    const readOut = await read(client, selection, view, signal);
    if (readOut.items.length > 0) texts.push(view.whole(readOut.items));
    all.push(readOut);
  }
  process.stdout.write(texts.join("\n"));
  await account(client, selections, all, signal);
}

async function showObjects(
  client: KubeClient,
  selections: readonly ResourceSelection[],
  view: ObjectView<KubeObject>,
  signal: AbortSignal,
): Promise<void> {
  const all: GetResult<KubeObject>[] = [];
  for (const selection of selections) all.push(await read(client, selection, view, signal));
  process.stdout.write(view.whole(all.flatMap(({ items }) => items)));
  await account(client, selections, all, signal);
}

async function account(
  client: KubeClient,
  selections: readonly ResourceSelection[],
  all: readonly GetResult<unknown>[],
  signal: AbortSignal,
): Promise<void> {
  const missing = all.flatMap((readOut) => readOut.missing);
  for (const sentence of missing) failWith(sentence, EXIT.no);
  const [first, ...others] = selections;
  if (missing.length > 0 || !first || all.some(({ items }) => items.length > 0)) return;
  const where = first.namespace === undefined ? "" : ` in namespace ${first.namespace}`;
  const sentence = others.length > 0 ? `No objects of these kinds found${where}` : await emptyListHint(client, first, signal);
  process.stderr.write(`${sentence}\n`);
}

async function follow(
  client: KubeClient,
  selections: readonly ResourceSelection[],
  options: GetOptions,
  signal: AbortSignal,
): Promise<void> {
  const [selection, ...others] = selections;
  if (!selection || others.length > 0 || selection.names.length > 1) {
    throw new CliError("--watch takes one kind, or one object", EXIT.misuse);
  }
  if (options.bundle !== undefined) throw new CliError("--watch cannot be combined with --bundle", EXIT.misuse);
  const { watch } = await import("../get/watch.ts");
  const parts = { client, selection, signal };
  if (options.output === "table" || options.output === "wide") await watch({ ...parts, view: tableViewOf(selection, false, options) });
  else await watch({ ...parts, view: await objectView(options.output, selections) });
}

function tableViewOf({ resource, namespace }: ResourceSelection, several: boolean, { output }: GetOptions) {
  return tableView({
    paint: colorizeFor(process.stdout),
    wide: output === "wide",
    namespaces: namespace === undefined && resource.scope === "Namespaced",
    ...(several && { prefix: `${labelOf(resource)}/` }),
  });
}

async function objectView(output: "yaml" | "json" | "name", selections: readonly ResourceSelection[]): Promise<ObjectView<KubeObject>> {
  if (output === "name") return nameView();
  if (output === "json") return jsonView(selections.length === 1 ? (selections[0]?.resource.kind ?? "") : "List");
  const { stringify } = await import("yaml");
  return yamlView((value) => stringify(value, { aliasDuplicateObjects: false, lineWidth: 0, compat: "yaml-1.1" }));
}
