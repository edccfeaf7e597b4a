import type { KubeObject, ObjectMeta } from "../../api/kind.ts";
import { stripControlCharacters } from "../print/columns.ts";
import { itemsLine, itemsText } from "../print/items.ts";
import type { Colorize } from "../print/color.ts";
import { ACCEPT_TABLE, type Table, TablePrinter, type TableRow } from "../print/table.ts";
import { labelOf } from "../resources/resolve.ts";

export type ChangeType = "ADDED" | "MODIFIED" | "DELETED";

export interface ObjectView<Item> {
  readonly accept?: string;
  /** From a list, from one object, or from an event of a watch. */
  items(answer: unknown): Item[];
  metadata(item: Item): ObjectMeta;
  whole(items: readonly Item[]): string;
  change(type: ChangeType, item: Item): string;
}

export interface TableViewOptions {
  paint: Colorize;
  wide: boolean;
  namespaces: boolean;
  prefix?: string;
}

export function tableView(options: TableViewOptions): ObjectView<TableRow> {
  const printer = new TablePrinter(options);
  let columnDefinitions: NonNullable<Table["columnDefinitions"]> = [];
  const text = (rows: readonly TableRow[]) => lines(printer.lines({ columnDefinitions, rows: [...rows] }));
  return {
    accept: ACCEPT_TABLE,
    items(answer) {
      const table = answer as Table;
      columnDefinitions = table.columnDefinitions ?? columnDefinitions;
      return table.rows ?? [];
    },
    metadata: ({ object }) => object?.metadata ?? { name: "" },
    whole: text,
    // Marked, so that a deleted object does not look like an existing one.
    change: (type, row) => (type === "DELETED" ? text([row]).replace(/\n$/, "   (deleted)\n") : text([row])),
  };
}

/** `{ apiVersion, kind, items }`; of a watch one line per event. */
export function jsonView(kind: string): ObjectView<KubeObject> {
  return {
    ...objects,
    whole: (items) => itemsText(kind, items),
    change: (type, object) => itemsLine("WatchEvent", [{ type, object }]),
  };
}

/** Documents that could be applied again. */
export function yamlView(stringify: (value: unknown) => string): ObjectView<KubeObject> {
  // YAML leaves these characters as they are in double quotes, and terminals would interpret them.
  const text = (object: KubeObject) =>
    stringify(object).replaceAll(/[\u007f-\u009f]/g, (control) => `\\x${control.charCodeAt(0).toString(16)}`);
  return {
    ...objects,
    whole: (items) => items.map(text).join("---\n"),
    change: (_type, object) => `---\n${text(object)}`,
  };
}

/** `l3vni.openpe.openperouter.github.io/red` */
export function nameView(): ObjectView<KubeObject> {
  return { ...objects, whole: (items) => lines(items.map(nameOf)), change: (_type, object) => lines([nameOf(object)]) };
}

function nameOf(object: KubeObject): string {
  return stripControlCharacters(`${labelOf(object)}/${object.metadata.name}`);
}

const objects = {
  items(answer: unknown): KubeObject[] {
    const { items, ...whole } = answer as KubeObject & { items?: KubeObject[] };
    if (!items) return [readable(whole)];
    // A list names the kind only once; the item is printed on its own.
    const { apiVersion = "", kind = "" } = whole;
    return items.map((item) => readable({ apiVersion, kind: kind.replace(/List$/, ""), ...item }));
  },
  metadata: ({ metadata }: KubeObject) => metadata,
};

/** Without managedFields, and in the usual order of keys. */
function readable(object: KubeObject): KubeObject {
  const { apiVersion = "", kind = "", ...rest } = object;
  const metadata = { ...object.metadata };
  delete metadata.managedFields;
  return { apiVersion, kind, ...rest, metadata };
}

function lines(texts: readonly string[]): string {
  return texts.map((text) => `${text}\n`).join("");
}
