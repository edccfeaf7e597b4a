import { DEPTH, tooDeep } from "./limits.ts";
import { isIndex, PositionRecorder, duplicateKey, type ParseError, type Position } from "./position.ts";
import type { Read } from "./yaml-value.ts";

/** JSON.parse is faster, but has neither the positions of fields nor, often, that of an error. */
export function readJson(text: string): Read {
  if (text.trim() === "") return "empty";
  const scanner = new JsonScanner(text);
  const parseError = scanner.scan();
  return parseError ? { flaw: parseError } : { value: JSON.parse(text), positions: scanner.recorder.positions() };
}

const LITERAL = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?)(?![\w.+-])/y;
const CONTROL = /[\0-\x1f]/; // oxlint-disable-line no-control-regex

class JsonScanner {
  readonly recorder = new PositionRecorder();
  readonly #text: string;
  #at = 0;
  #line = 0;
  #lineStart = 0;
  #parseError: ParseError | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  scan(): ParseError | undefined {
    this.#skipSpace();
    this.recorder.add(this.#position());
    this.#value(0);
    this.#skipSpace();
    if (this.#at < this.#text.length) this.#unexpected();
    return this.#parseError;
  }

  #value(depth: number): void {
    const first = this.#text[this.#at];
    if (first === '"') this.#string();
    else if (first !== "{" && first !== "[") this.#literal();
    else if (depth >= DEPTH) this.#stop(tooDeep);
    else if (first === "{") this.#object(depth);
    else this.#list(depth);
  }

  #literal(): void {
    LITERAL.lastIndex = this.#at;
    const match = LITERAL.exec(this.#text);
    if (match) this.#at += match[0].length;
    else this.#unexpected();
  }

  #object(depth: number): void {
    const from = this.recorder.count;
    const parts: { key: string; from: number; to: number }[] = [];
    const keys = new Set<string>();
    for (let more = this.#open("}"); more; more = this.#next("}")) {
      const position = this.#position();
      const start = this.recorder.count;
      const key = this.#string();
      if (key === undefined) return;
      if (keys.has(key)) return this.#stop(duplicateKey(key), position);
      keys.add(key);
      this.recorder.add(position);
      this.#skipSpace();
      if (!this.#take(":")) return this.#unexpected();
      this.#skipSpace();
      this.#value(depth + 1);
      parts.push({ key, from: start, to: this.recorder.count });
    }
    if (parts.some(({ key }) => isIndex(key))) this.recorder.reorder(from, parts);
  }

  #list(depth: number): void {
    for (let more = this.#open("]"); more; more = this.#next("]")) {
      this.recorder.add(this.#position());
      this.#value(depth + 1);
    }
  }

  #open(end: string): boolean {
    this.#at += 1;
    this.#skipSpace();
    return !this.#take(end);
  }

  #next(end: string): boolean {
    this.#skipSpace();
    if (this.#parseError || this.#take(end)) return false;
    if (!this.#take(",")) this.#unexpected();
    this.#skipSpace();
    return this.#parseError === undefined;
  }

  #take(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #string(): string | undefined {
    const start = this.#at;
    if (this.#text[start] !== '"') return this.#unexpected();
    let end = start;
    do {
      end = this.#text.indexOf('"', end + 1);
    } while (end > 0 && isEscaped(this.#text, end));
    const raw = this.#text.slice(start + 1, end < 0 ? undefined : end);
    if (end < 0 || CONTROL.test(raw)) return this.#stop("string not closed on this line");
    try {
      const value = raw.includes("\\") ? (JSON.parse(`"${raw}"`) as string) : raw;
      this.#at = end + 1;
      return value;
    } catch {
      return this.#stop("invalid escape sequence");
    }
  }

  #skipSpace(): void {
    for (; this.#at < this.#text.length; this.#at += 1) {
      const code = this.#text.charCodeAt(this.#at);
      if (code === 10) {
        this.#line += 1;
        this.#lineStart = this.#at + 1;
      } else if (code !== 32 && code !== 9 && code !== 13) return;
    }
  }

  #position(): Position {
    return { line: this.#line, column: this.#at - this.#lineStart };
  }

  #unexpected(): undefined {
    const found = this.#text.codePointAt(this.#at);
    return this.#stop(found === undefined ? "unexpected end of JSON" : `${JSON.stringify(String.fromCodePoint(found))} is not JSON here`);
  }

  #stop(message: string, position = this.#position()): undefined {
    this.#parseError ??= { ...position, message };
    return undefined;
  }
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text[at - 1 - backslashes] === "\\") backslashes += 1;
  return backslashes % 2 === 1;
}
