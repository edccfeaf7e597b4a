import { isObject } from "../../api/admission/value.ts";
import { same } from "../kinds/json.ts";

export class BadOperation extends Error {}

const OPERATIONS_MAX = 10_000;
/** The sum of all copies in a patch, as in Kubernetes: each could double the object. */
const COPIED_MAX = 3 * 1024 * 1024;

interface Operation {
  op: string;
  path: string[];
  from: string[];
  value: unknown;
}

interface Root {
  document: unknown;
  copied: number;
}

type Container = Record<string, unknown> | unknown[];

/** RFC 6902, with the deviations of the kube-apiserver. */
export function jsonPatched(target: object, operations: readonly unknown[]): unknown {
  if (operations.length > OPERATIONS_MAX) throw new BadOperation(`at most ${OPERATIONS_MAX} operations`);
  const root: Root = { document: structuredClone(target), copied: 0 };
  for (const operation of operations) carryOut(root, readOperation(operation));
  return root.document;
}

function readOperation(raw: unknown): Operation {
  if (!isObject(raw)) throw new BadOperation("an operation is an object");
  return { op: String(raw["op"]), path: pointer(raw["path"]), from: pointer(raw["from"] ?? ""), value: structuredClone(raw["value"]) };
}

function pointer(text: unknown): string[] {
  if (typeof text !== "string" || (text !== "" && !text.startsWith("/"))) throw new BadOperation(`${String(text)} is no JSON pointer`);
  const parts = text.split("/").slice(1);
  return ["document", ...parts.map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))];
}

function carryOut(root: Root, { op, path, from, value }: Operation): void {
  switch (op) {
    case "add":
      return add(root, path, value);
    case "remove":
      return void remove(root, path);
    case "replace":
      return replace(root, path, value);
    case "move":
      return add(root, path, remove(root, from));
    case "copy":
      return add(root, path, copied(root, valueAt(root, from)));
    case "test":
      if (same(valueAt(root, path) ?? null, value ?? null)) return;
      throw new BadOperation(`the value at ${path.join("/")} is another`);
    default:
      throw new BadOperation(`${op} is no operation`);
  }
}

function copied(root: Root, value: unknown): unknown {
  if (value === undefined) return undefined;
  const json = JSON.stringify(value);
  root.copied += json.length;
  if (root.copied > COPIED_MAX) throw new BadOperation(`the copies have more than ${COPIED_MAX} bytes`);
  return JSON.parse(json);
}

function parent(root: object, path: readonly string[]): { within: Container; last: string } {
  let within: unknown = root;
  for (const part of path.slice(0, -1)) within = member(within, part);
  if (!isObject(within) && !Array.isArray(within)) throw new BadOperation(`nothing holds ${path.join("/")}`);
  return { within, last: path.at(-1) ?? "" };
}

function member(within: unknown, part: string): unknown {
  if (Array.isArray(within)) return within[indexIn(within, part, within.length - 1)];
  return isObject(within) && Object.hasOwn(within, part) ? within[part] : undefined;
}

function valueAt(root: object, path: readonly string[]): unknown {
  const { within, last } = parent(root, path);
  return member(within, last);
}

function indexIn(list: readonly unknown[], part: string, max: number): number {
  const index = /^-?\d+$/.test(part) ? Number(part) : Number.NaN;
  const counted = index < 0 ? index + list.length : index;
  if (!(counted >= 0 && counted <= max)) throw new BadOperation(`${part} is no index`);
  return counted;
}

function set(within: Container, part: string, value: unknown): void {
  Object.defineProperty(within, part, { value, enumerable: true, configurable: true, writable: true });
}

function add(root: object, path: readonly string[], value: unknown): void {
  const { within, last } = parent(root, path);
  if (Array.isArray(within)) within.splice(last === "-" ? within.length : indexIn(within, last, within.length), 0, value);
  else set(within, last, value);
}

function replace(root: object, path: readonly string[], value: unknown): void {
  const { within, last } = parent(root, path);
  if (Array.isArray(within)) within[indexIn(within, last, within.length - 1)] = value;
  else set(within, last, value);
}

function remove(root: object, path: readonly string[]): unknown {
  const { within, last } = parent(root, path);
  if (Array.isArray(within)) return within.splice(indexIn(within, last, within.length - 1), 1)[0];
  if (!Object.hasOwn(within, last)) throw new BadOperation(`there is no ${path.join("/")}`);
  const value = within[last];
  delete within[last];
  return value;
}
