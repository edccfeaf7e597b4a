import { isUtf8 } from "node:buffer";
import { hash } from "node:crypto";
import { isObject, type JsonObject } from "../../api/admission/value.ts";
import type { KubeObject } from "../../api/kind.ts";
import { readJson } from "./json-value.ts";
import { OBJECT_BYTES } from "./limits.ts";
import { itemPositions, positionOf, type ParseError, type Position, type Positions } from "./position.ts";
import { documentsOf, splitList, type SplitList, type TextRange } from "./split.ts";
import { readYaml, type Read } from "./yaml-value.ts";

export interface ManifestObject {
  readonly object: KubeObject;
  /** Relative to its document, so that lines added above do not change it. */
  readonly positions: Positions;
}

/** A document, or an item of a List. It is parsed again only if its text changes. */
export interface Document {
  readonly digest: string;
  readonly line: number;
  readonly manifests: readonly ManifestObject[];
  readonly flaws: readonly ParseError[];
}

type Outcome = Pick<Document, "manifests" | "flaws">;
type ListHead = { readonly apiVersion: string; readonly kind: string };

export interface ReadOptions {
  /** JSON only; otherwise YAML, which includes JSON. */
  readonly json: boolean;
  /** The documents of the last read. */
  readonly before?: readonly Document[];
}

export function readManifests(file: Buffer, options: ReadOptions): Document[] {
  return [...manifestDocuments(file, options)];
}

/** Yields after each document, so that the caller can run other work. */
export function* manifestDocuments(file: Buffer, { json, before = [] }: ReadOptions): Generator<Document> {
  const known = new Map(before.map((passage) => [passage.digest, passage]));
  const text = file.subarray(0, 3).equals(BYTE_ORDER_MARK) ? file.subarray(3) : file;
  for (const stretch of json ? [{ bytes: text, line: 0 }] : documentsOf(text)) {
    const digest = hash("sha1", stretch.bytes, "base64");
    const passage = known.get(digest);
    if (passage) yield { ...passage, line: stretch.line };
    else yield* readStretch(stretch, digest, json, known);
  }
}

const BYTE_ORDER_MARK = Buffer.from("\ufeff");

function* readStretch(
  { bytes, line }: TextRange,
  digest: string,
  json: boolean,
  known: ReadonlyMap<string, Document>,
): Generator<Document> {
  const list = json ? undefined : listIn(bytes);
  if (!list) {
    yield { digest, line, ...readWhole(bytes, json) };
    return;
  }
  const { head, items } = list;
  for (const item of items) {
    const digest = hash("sha1", `${head.apiVersion} ${head.kind} ${item.text}`, "base64");
    const { manifests, flaws } = known.get(digest) ?? readDocument(item.text, Buffer.byteLength(item.text), head);
    yield { digest, line: line + item.line, manifests, flaws };
  }
}

function readWhole(bytes: Buffer, json: boolean): Outcome {
  const unreadable = textParseError(bytes);
  if (unreadable) return flawed(unreadable);
  const text = bytes.toString();
  if (json) return outcomeOf(readJson(text), bytes.length);
  const read = /^\s*[{[]/.test(text) ? readJson(text) : "empty";
  return read === "empty" || "flaw" in read ? readDocument(text, bytes.length) : outcomeOf(read, bytes.length);
}

function listIn(bytes: Buffer): { head: ListHead; items: SplitList["items"] } | undefined {
  if (!bytes.includes("items:") || textParseError(bytes)) return undefined;
  const list = splitList(bytes.toString());
  const head = list && listHead(list.head);
  return head && { head, items: list.items };
}

function readDocument(text: string, bytes: number, head?: ListHead): Outcome {
  if (bytes > OBJECT_BYTES) return flawed(tooLarge(bytes));
  return outcomeOf(readYaml(text), bytes, head);
}

function outcomeOf(read: Read, bytes: number, head?: ListHead): Outcome {
  if (read === "empty") return { manifests: [], flaws: [] };
  if ("flaw" in read) return flawed(read.flaw);
  // An empty document.
  if (read.value === null && !head) return { manifests: [], flaws: [] };
  const manifests: ManifestObject[] = [];
  const parseErrors: ParseError[] = [];
  collect(read.value, read.positions, head, bytes > OBJECT_BYTES, manifests, parseErrors);
  return { manifests, flaws: parseErrors };
}

const flawed = (parseError: ParseError): Outcome => ({ manifests: [], flaws: [parseError] });

function tooLarge(bytes: number): ParseError {
  return { line: 0, column: 0, message: `an object of ${bytes} bytes is too large; an API server stores at most ${OBJECT_BYTES}` };
}

function textParseError(bytes: Buffer): ParseError | undefined {
  if (!isUtf8(bytes)) return { ...firstBadLine(bytes, (line) => !isUtf8(line)), message: "not UTF-8 text; save the file as UTF-8" };
  // A file that was written during a power cut is often full of zeros.
  if (!CONTROL.test(bytes.toString("latin1"))) return undefined;
  return { ...firstBadLine(bytes, (line) => CONTROL.test(line.toString("latin1"))), message: "control characters are not allowed" };
}

// oxlint-disable-next-line no-control-regex
const CONTROL = /[\0-\b\v\f\x0e-\x1f\x7f]/;

function firstBadLine(bytes: Buffer, isBad: (line: Buffer) => boolean): Position {
  let line = 0;
  for (let at = 0; at < bytes.length; line += 1) {
    const newline = bytes.indexOf(10, at);
    const end = newline < 0 ? bytes.length : newline;
    if (isBad(bytes.subarray(at, end))) return { line, column: 0 };
    at = end + 1;
  }
  return { line: 0, column: 0 };
}

function listHead(text: string): ListHead | undefined {
  const read = readYaml(text);
  if (read === "empty" || "flaw" in read || !isObject(read.value)) return undefined;
  const { apiVersion, kind } = read.value;
  return typeof apiVersion === "string" && isListKind(kind) ? { apiVersion, kind } : undefined;
}

function isListKind(kind: unknown): kind is string {
  return typeof kind === "string" && kind.endsWith("List");
}

function collect(
  value: unknown,
  positions: Positions,
  head: ListHead | undefined,
  checkSize: boolean,
  manifests: ManifestObject[],
  parseErrors: ParseError[],
): void {
  const object = head && head.kind !== "List" && isObject(value) ? { ...value, ...inherited(head, value) } : value;
  if (isObject(object) && isListKind(object["kind"]) && Array.isArray(object["items"])) {
    const inner = { apiVersion: String(object["apiVersion"]), kind: object["kind"] };
    for (const [index, item] of itemPositions(object, positions, "items").entries())
      collect((object["items"] as unknown[])[index], item, inner, checkSize, manifests, parseErrors);
    return;
  }
  const parseError = manifestParseError(object, positions);
  const bytes = checkSize ? Buffer.byteLength(JSON.stringify(object)) : 0;
  if (parseError) parseErrors.push(parseError);
  else if (bytes > OBJECT_BYTES) parseErrors.push({ ...tooLarge(bytes), ...positionOf(object, positions, "") });
  else manifests.push({ object: object as KubeObject, positions });
}

/** Items of a typed list may omit their kind. The added fields come last, so that positions stay valid. */
function inherited({ apiVersion, kind }: ListHead, item: JsonObject): JsonObject {
  return item["kind"] === undefined && item["apiVersion"] === undefined ? { apiVersion, kind: kind.slice(0, -"List".length) } : {};
}

function manifestParseError(value: unknown, positions: Positions): ParseError | undefined {
  const parseError = (field: string, message: string): ParseError => ({ ...positionOf(value, positions, field), message });
  if (!isObject(value)) return parseError("", "not a manifest: apiVersion, kind and metadata are required");
  for (const field of ["apiVersion", "kind"]) {
    if (value[field] === undefined || value[field] === null) return parseError("", `${field} is missing`);
    if (typeof value[field] !== "string" || value[field] === "") return parseError(field, `${field} must be text`);
  }
  const metadata = value["metadata"] ?? {};
  if (!isObject(metadata)) return parseError("metadata", "metadata must be a map");
  const { name, namespace } = metadata;
  if ((name === undefined || name === null) && metadata["generateName"] !== undefined)
    return parseError("metadata.generateName", "metadata.name is missing; generateName is not allowed in a file");
  if (name === undefined || name === null) return parseError("metadata", "metadata.name is missing");
  if (typeof name !== "string" || name === "") return parseError("metadata.name", `metadata.name must be text${quoted(name)}`);
  if (namespace !== undefined && namespace !== null && typeof namespace !== "string")
    return parseError("metadata.namespace", `metadata.namespace must be text${quoted(namespace)}`);
  return undefined;
}

/** YAML reads `12` as a number, and `y` and `no` as booleans. */
const quoted = (value: unknown) => (typeof value === "number" || typeof value === "boolean" ? "; put it in quotes" : "");
