type Kind = "name" | "string" | "template" | "jsx-text" | "regex" | "comment" | "number" | "punctuation";

/** `text` is the source of the token; of a string, template or JSX text only what stands between its delimiters. */
export interface Token {
  kind: Kind;
  text: string;
}

const NAME = /[\p{ID_Start}$_#][\p{ID_Continue}$\u200c\u200d]*/uy;
const NUMBER = /\.?\d(?:[eE][+-]|[\w.])*/y;
const REGEX = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/y;
const COMMENT = /\/\/[^\n]*|\/\*[^]*?\*\//y;
const QUOTED = /"(?:\\[^]|[^"\\])*"|'(?:\\[^]|[^'\\])*'/y;
const JSX_QUOTED = /"[^"]*"|'[^']*'/y;
const JSX_NAME = /[\p{ID_Start}$_][\p{ID_Continue}$.:-]*/uy;
const TEMPLATE_TEXT = /(?:\\[^]|\$(?!\{)|[^`\\$])*/y;
const JSX_TEXT = /[^<{]+/y;
const SPACE = /\s+/y;
/** After one of these an expression begins: a slash starts a regular expression, and in TSX `<` an element. */
const BEFORE_EXPRESSION = new Set("return typeof case in of delete void throw new else do instanceof await yield default".split(" "));

/**
 * The tokens of a TypeScript file. It knows no grammar: it separates names, strings, regular expressions and comments, which is all that the style checks need.
 * One guess: after `)`, `]` and `}` a slash divides. A text that it cannot read ends in a token of one character and goes on.
 */
export function tokensOf(source: string, isTsx = false): Token[] {
  return new Lexer(source, isTsx).run();
}

/** The same without comments, as the checks of code want it. */
export function withoutComments(tokens: readonly Token[]): Token[] {
  return tokens.filter(({ kind }) => kind !== "comment");
}

class Lexer {
  readonly #source: string;
  readonly #isTsx: boolean;
  readonly #tokens: Token[] = [];
  #at = 0;
  #last: Token | undefined;

  constructor(source: string, isTsx: boolean) {
    this.#source = source;
    this.#isTsx = isTsx;
  }

  run(): Token[] {
    while (this.#at < this.#source.length) {
      this.#code();
      // A closing brace too many: keep it and go on.
      if (this.#at < this.#source.length) this.#punctuation();
    }
    return this.#tokens;
  }

  /** Up to the brace that closes the block around it, which it leaves, or to the end. */
  #code(): void {
    let depth = 0;
    while (this.#at < this.#source.length) {
      const next = this.#source[this.#at];
      if (next === "}" && depth === 0) return;
      if (next === "{") depth += 1;
      if (next === "}") depth -= 1;
      this.#token();
    }
  }

  #token(): void {
    if (this.#skip(SPACE)) return;
    const comment = this.#match(COMMENT);
    if (comment !== undefined) return void this.#tokens.push({ kind: "comment", text: comment });
    const quoted = this.#match(QUOTED);
    if (quoted !== undefined) return this.#push("string", quoted.slice(1, -1));
    if (this.#source[this.#at] === "`") return this.#template();
    if (this.#expressionBegins()) {
      const regex = this.#match(REGEX);
      if (regex !== undefined) return this.#push("regex", regex);
      if (this.#isTsx && /^<[\p{L}>]/u.test(this.#source.slice(this.#at, this.#at + 2))) return this.#element();
    }
    const name = this.#match(NAME);
    if (name !== undefined) return this.#push("name", name);
    const number = this.#match(NUMBER);
    if (number !== undefined) return this.#push("number", number);
    this.#punctuation();
  }

  #template(): void {
    this.#at += 1;
    for (;;) {
      const text = this.#match(TEMPLATE_TEXT) ?? "";
      if (text !== "") this.#push("template", text);
      if (this.#source[this.#at] !== "$") break;
      this.#at += 1;
      this.#braces();
    }
    this.#at += 1;
    // What stands after a template is not the start of an expression, even of an empty one.
    this.#last = { kind: "template", text: "" };
  }

  /** An element with all that is in it. */
  #element(): void {
    this.#punctuation();
    if (!this.#tag()) return;
    while (this.#at < this.#source.length) {
      const text = this.#match(JSX_TEXT);
      if (text !== undefined) this.#push("jsx-text", text);
      else if (this.#source[this.#at] === "{") this.#braces();
      else if (this.#source.startsWith("</", this.#at)) {
        this.#punctuation();
        this.#tag();
        this.#last = { kind: "punctuation", text: ")" };
        return;
      } else this.#element();
    }
  }

  /** The rest of a tag, up to and with `>`. False when nothing stands between it and its end. */
  #tag(): boolean {
    while (this.#at < this.#source.length) {
      const next = this.#source[this.#at];
      if (this.#skip(SPACE) || this.#skip(COMMENT)) continue;
      const quoted = this.#match(JSX_QUOTED);
      const name = quoted === undefined ? this.#match(JSX_NAME) : undefined;
      if (quoted !== undefined) this.#push("string", quoted.slice(1, -1));
      else if (name !== undefined) this.#push("name", name);
      else if (next === "{") this.#braces();
      else {
        const isClosed = this.#source.startsWith("/>", this.#at);
        this.#punctuation();
        if (isClosed) this.#punctuation();
        if (isClosed) this.#last = { kind: "punctuation", text: ")" };
        if (isClosed || next === ">") return !isClosed;
      }
    }
    return false;
  }

  #braces(): void {
    this.#punctuation();
    this.#code();
    this.#punctuation();
  }

  #expressionBegins(): boolean {
    if (!this.#last) return true;
    const { kind, text } = this.#last;
    if (kind === "name") return BEFORE_EXPRESSION.has(text);
    return kind === "punctuation" && !")]}".includes(text);
  }

  #punctuation(): void {
    const text = this.#source[this.#at];
    this.#at += 1;
    if (text !== undefined) this.#push("punctuation", text);
  }

  #push(kind: Kind, text: string): void {
    this.#last = { kind, text };
    this.#tokens.push(this.#last);
  }

  #skip(pattern: RegExp): boolean {
    return this.#match(pattern) !== undefined;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const text = pattern.exec(this.#source)?.[0];
    if (text === undefined || text === "") return undefined;
    this.#at += text.length;
    return text;
  }
}
