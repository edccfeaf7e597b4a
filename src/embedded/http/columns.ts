import { goJson } from "../../api/admission/go-text.ts";
import type { PrinterColumn } from "../../api/define-kind.ts";
import type { ServedKind, StoredObject } from "../kinds/served-kind.ts";
import { ageOf } from "../../util/age.ts";
import { coreColumns } from "./core-columns.ts";
import { isObject } from "../../api/admission/value.ts";

export interface TableColumn {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description: string;
  /** Shown only by `-o wide`. */
  readonly wide?: true;
  readonly cell: (object: StoredObject) => unknown;
}

const NAME =
  "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";
const CREATED = "CreationTimestamp is a timestamp representing the server time when this object was created.";

const nameColumn: TableColumn = {
  name: "Name",
  type: "string",
  format: "name",
  description: NAME,
  cell: ({ metadata }) => metadata.name,
};

const made = new Map<ServedKind, readonly TableColumn[]>();

export function columnsOf(kind: ServedKind): readonly TableColumn[] {
  const known = made.get(kind);
  if (known) return known;
  const columns = kind.custom ? customColumns(kind.custom.columns) : (coreColumns[kind.kind] ?? [nameColumn, createdAt]);
  made.set(kind, columns);
  return columns;
}

/** For a kind without columns. */
const createdAt: TableColumn = {
  name: "Age",
  type: "date",
  description: CREATED,
  cell: ({ metadata }) => ageOf(metadata.creationTimestamp),
};

function customColumns(columns: readonly PrinterColumn[] | undefined): TableColumn[] {
  return [nameColumn, ...(columns?.map(customColumn) ?? [createdAt])];
}

function customColumn({ name, type, path, doc, wide }: PrinterColumn): TableColumn {
  const read = compilePath(path);
  return { name, type, description: doc, ...(wide && { wide }), cell: (object) => cellOf(type, read(object)) };
}

function cellOf(type: PrinterColumn["type"], value: unknown): unknown {
  if (value === undefined) return null;
  switch (type) {
    case "string":
      return typeof value === "string" ? value : goJson(value);
    case "integer":
      return typeof value === "number" ? Math.trunc(value) : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
    case "date":
    default:
      return typeof value === "string" ? ageOf(value) : null;
  }
}

type Step = { field: string } | { index: number } | { every: true } | { where: string; equals: string };

/** The JSONPath of printer columns: `.spec.vni`, `.spec.ports[0].port`, `.status.conditions[?(@.type=="Ready")].status`. */
function compilePath(path: string): (object: unknown) => unknown {
  const steps = stepsOf(path);
  return (object) => steps.reduce<unknown[]>((found, step) => found.flatMap((value) => taken(value, step)), [object])[0];
}

const STEP = /^(?:\.((?:[^.[\\]|\\.)+)|\[\?\(@\.([\w.-]+)\s*==\s*["']([^"']*)["']\)\]|\[(\d+)\]|\[\*\]|\[['"]([^'"]+)['"]\])/;

function stepsOf(path: string): Step[] {
  const steps: Step[] = [];
  for (let rest = path; rest !== "";) {
    const match = STEP.exec(rest);
    if (!match) throw new Error(`the column path ${path} cannot be read from ${rest} on`);
    const [text, field, where, equals, index, quoted] = match;
    if (where !== undefined) steps.push({ where, equals: equals ?? "" });
    else if (index !== undefined) steps.push({ index: Number(index) });
    else if (field !== undefined || quoted !== undefined) steps.push({ field: (field ?? quoted ?? "").replaceAll(/\\(.)/g, "$1") });
    else steps.push({ every: true });
    rest = rest.slice(text.length);
  }
  return steps;
}

function taken(value: unknown, step: Step): unknown[] {
  if ("field" in step) return isObject(value) && Object.hasOwn(value, step.field) ? [value[step.field]] : [];
  if (!Array.isArray(value)) return [];
  if ("index" in step) return step.index < value.length ? [value[step.index]] : [];
  if ("where" in step) return value.filter((item) => isObject(item) && String(item[step.where]) === step.equals);
  return value;
}
