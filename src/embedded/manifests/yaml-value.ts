import {
  Composer,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  Parser,
  Scalar,
  type Alias,
  type Document,
  type Node,
  type YAMLError,
  stringify,
} from "yaml";
import { DEPTH, OBJECT_BYTES, tooDeep, YAML_TOKENS } from "./limits.ts";
import { inListingOrder, PositionRecorder, duplicateKey, type ParseError, type Position, type Positions } from "./position.ts";
import { plainScalar } from "./scalar.ts";
import type { KubeObject } from "../../api/kind.ts";
import { same } from "../kinds/json.ts";

export type Read = { readonly value: unknown; readonly positions: Positions } | { readonly flaw: ParseError } | "empty";

/** The value of one YAML document with its positions. */
export function readYaml(text: string): Read {
  const lines = new LineCounter();
  const at = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(0, line - 1), column: Math.max(0, col - 1) };
  };
  try {
    const document = compose(text, lines);
    if (!document?.contents) return "empty";
    const [error] = document.errors;
    if (error) throw new YamlError(error.pos[0], plainly(error));
    const reader = new NodeReader(document, at);
    const value = reader.read(document.contents);
    return { value, positions: reader.positions };
  } catch (error) {
    if (error instanceof RangeError) return { flaw: { ...at(0), message: tooDeep } };
    if (!(error instanceof YamlError)) throw error;
    return { flaw: { ...at(error.offset), message: error.message } };
  }
}

/** Clearer messages for the most frequent mistakes. */
const PLAINLY = new Map([
  [
    "Nested mappings are not allowed in compact mappings",
    'a field cannot start here; quote text that contains ": ", or check the indentation',
  ],
  ["Implicit map keys need to be followed by map values", 'not a field: ": " after the name is missing, or text needs quotes'],
  ["Implicit keys need to be on a single line", 'not a field: ": " after the name is missing, or text needs quotes'],
  ["All mapping items must start at the same column", "the fields of one map must start in the same column"],
]);

function plainly({ code, message }: YAMLError): string {
  return code === "RESOURCE_EXHAUSTION" ? tooDeep : (PLAINLY.get(message) ?? message);
}

class YamlError extends Error {
  readonly offset: number;

  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

/** Feeds the parser step by step, so that a document that would take a minute is rejected early. */
function compose(text: string, lines: LineCounter): Document.Parsed | undefined {
  lines.addNewLine(0);
  const parser = new Parser(lines.addNewLine);
  const composer = new Composer({ schema: "failsafe", uniqueKeys: false, prettyErrors: false });
  const documents = [...composer.compose(tokens(text, parser), true, text.length)];
  const [, second] = documents;
  if (second) throw new YamlError(second.range[0], "a second document starts here; write --- on a line of its own before it");
  return documents[0];
}

function* tokens(text: string, parser: Parser): ReturnType<Parser["parse"]> {
  let count = 0;
  for (const lexeme of new Lexer().lex(text)) {
    yield* parser.next(lexeme);
    if (parser.stack.length > DEPTH + 2) throw new YamlError(parser.offset, tooDeep);
    if ((count += 1) > YAML_TOKENS)
      throw new YamlError(parser.offset, `more than ${YAML_TOKENS} YAML tokens; split the document, or use JSON`);
  }
  yield* parser.end();
}

interface Entry {
  readonly key: string;
  readonly offset: number;
  readonly node: Node | null;
}

const NODE_SIZE = 16;

class NodeReader {
  readonly #document: Document.Parsed;
  readonly #at: (offset: number) => Position;
  readonly #positions = new PositionRecorder();
  readonly #within: Node[] = [];
  #targets: Map<Alias, Node> | undefined;
  #size = 0;
  /** The offset of the outermost alias that is being expanded. */
  #alias: number | undefined;

  constructor(document: Document.Parsed, at: (offset: number) => Position) {
    this.#document = document;
    this.#at = at;
  }

  get positions(): Positions {
    return this.#positions.positions();
  }

  read(root: Node): unknown {
    this.#mark(offsetOf(root));
    return this.#value(root, offsetOf(root));
  }

  #mark(offset: number): void {
    this.#positions.add(this.#at(offset));
  }

  #value(node: Node | null, offset: number): unknown {
    if (!node) return null;
    if (isAlias(node)) return this.#expand(node, offset);
    if (isScalar(node)) return this.#scalar(node);
    if (this.#within.length >= DEPTH) throw new YamlError(offsetOf(node), tooDeep);
    if (this.#within.includes(node)) throw new YamlError(offset, "this alias refers to its own parent");
    this.#within.push(node);
    const value = this.#collection(node);
    this.#within.pop();
    return value;
  }

  #expand(alias: Alias, offset: number): unknown {
    const around = this.#alias;
    this.#alias ??= offset;
    const value = this.#value(this.#targetOf(alias), offset);
    this.#alias = around;
    return value;
  }

  #collection(node: Node): unknown {
    checkTag(node, "map", "seq");
    if (isSeq(node)) {
      return node.items.map((item) => {
        const offset = offsetOf(item as Node);
        this.#mark(offset);
        this.#count(0, offset);
        return this.#value(item as Node, offset);
      });
    }
    const entries = inListingOrder(this.#entriesOf(node), ({ key }) => key);
    return Object.fromEntries(
      entries.map(({ key, offset, node }) => {
        this.#mark(offset);
        this.#count(key.length, offset);
        return [key, this.#value(node, offset)];
      }),
    );
  }

  #entriesOf(map: Node): Entry[] {
    const entries = new Map<string, Entry>();
    const merged: Node[] = [];
    if (!isMap(map)) return [];
    for (const { key, value } of map.items as { key: Node; value: Node | null }[]) {
      if (isScalar(key) && key.source === "<<" && key.type === Scalar.PLAIN) {
        merged.push(...this.#mergedBy(value, offsetOf(key)));
        continue;
      }
      const offset = offsetOf(key);
      const name = this.#key(key);
      if (entries.has(name)) throw new YamlError(offset, duplicateKey(name));
      entries.set(name, { key: name, offset, node: value });
    }
    for (const map of merged) {
      for (const entry of this.#entriesOf(map)) {
        this.#count(0, offsetOf(map), true);
        if (!entries.has(entry.key)) entries.set(entry.key, entry);
      }
    }
    return [...entries.values()];
  }

  #mergedBy(value: Node | null, offset: number): Node[] {
    const node = isAlias(value) ? this.#targetOf(value) : value;
    const maps = isSeq(node) ? (node.items as Node[]).map((item) => (isAlias(item) ? this.#targetOf(item) : item)) : [node];
    return maps.map((map) => {
      if (!isMap(map)) throw new YamlError(offset, "<< merges a value that is not a map");
      if (this.#within.includes(map)) throw new YamlError(offset, "<< merges a map into itself");
      return map;
    });
  }

  #key(node: Node): string {
    const target = isAlias(node) ? this.#targetOf(node) : node;
    const key = isScalar(target) ? this.#scalar(target) : null;
    if (key === null) throw new YamlError(offsetOf(node), "a field cannot have this name; put it in quotes");
    return String(key);
  }

  #scalar(node: Scalar): string | number | boolean | null {
    const text = node.source ?? "";
    this.#count(text.length, offsetOf(node));
    const kind = checkTag(node, "str", "int", "float", "bool", "null");
    if (kind === "str" || (kind === undefined && node.type !== Scalar.PLAIN)) return text;
    const value = plainScalar(text);
    const fits = { int: Number.isInteger(value), float: typeof value === "number", bool: typeof value === "boolean", null: value === null };
    if (kind !== undefined && !fits[kind]) throw new YamlError(offsetOf(node), `${text} is not of type ${kind}, as its tag requires`);
    if (typeof value === "number" && !Number.isFinite(value)) throw new YamlError(offsetOf(node), `${text} is not a finite number`);
    return value;
  }

  /** Limits the size that aliases and merges expand to. */
  #count(size: number, offset: number, merged = false): void {
    if (this.#alias === undefined && !merged) return;
    this.#size += size + NODE_SIZE;
    if (this.#size <= OBJECT_BYTES) return;
    const message = `the aliases expand to more than ${OBJECT_BYTES} bytes`;
    throw new YamlError(this.#alias ?? offset, message);
  }

  #targetOf(alias: Alias): Node {
    this.#targets ??= aliasTargets(this.#document);
    const target = this.#targets.get(alias);
    if (!target) throw new YamlError(offsetOf(alias), `the alias *${alias.source} has no &${alias.source} above it`);
    return target;
  }
}

type Tag = "str" | "int" | "float" | "bool" | "null" | "map" | "seq";

function checkTag<T extends Tag>(node: Node, ...known: T[]): T | undefined {
  const tag = node.tag;
  if (tag === undefined) return undefined;
  const name = tag === "!" && isScalar(node) ? "str" : tag.replace(/^tag:yaml\.org,2002:/, "");
  const found = known.find((tag) => tag === name);
  if (!found) throw new YamlError(offsetOf(node), `the tag ${tag.replace(/^tag:yaml\.org,2002:/, "!!")} is not supported in a manifest`);
  return found;
}

/** An alias refers to the last node above it with its anchor. */
function aliasTargets(document: Document.Parsed): Map<Alias, Node> {
  const anchors = new Map<string, Node>();
  const targets = new Map<Alias, Node>();
  const visit = (node: unknown): void => {
    if (isAlias(node)) {
      const target = anchors.get(node.source);
      if (target) targets.set(node, target);
      return;
    }
    if (!isScalar(node) && !isMap(node) && !isSeq(node)) return;
    if (node.anchor !== undefined) anchors.set(node.anchor, node);
    if (isMap(node)) {
      for (const { key, value } of node.items) {
        visit(key);
        visit(value);
      }
    } else if (isSeq(node)) for (const item of node.items) visit(item);
  };
  visit(document.contents);
  return targets;
}

function offsetOf(node: Node): number {
  return node.range?.[0] ?? 0;
}

/** YAML that every parser reads as the same object. */
export function manifestText(object: KubeObject): string {
  const plain: unknown = JSON.parse(JSON.stringify(object));
  // YAML 1.1 needs quotes around more texts: "yes", "0644".
  const text = stringify(plain, { version: "1.1", lineWidth: 0, aliasDuplicateObjects: false });
  const read = readYaml(text);
  const isSame = typeof read === "object" && "value" in read && same(read.value, plain);
  return isSame ? text : `${JSON.stringify(plain, null, 2)}\n`;
}
