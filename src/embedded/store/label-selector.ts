/** Label selectors as they stand in a query: `app in (a, b), tier != db, !legacy`. */

import { invalid } from "../../api/admission/field-error.ts";
import { badRequest } from "./api-error.ts";
import { labelValueProblems, qualifiedNameProblems } from "../kinds/syntax.ts";

export type Labels = Readonly<Record<string, string>>;

const SYMBOLS = ["==", "!=", "(", ")", ",", "!", "=", ">", "<"];
const OPERATORS = new Set(["in", "notin", "=", "==", "!=", ">", "<"]);

/** An empty text is the end. */
interface Token {
  readonly text: string;
  readonly isIdentifier: boolean;
}
const END: Token = { text: "", isIdentifier: false };

/** Throws an ApiError if it is invalid. */
export function parseLabelSelector(text: string): (labels: Labels) => boolean {
  const requirements = new Parser(text).parse();
  return (labels) => requirements.every((matches) => matches(labels));
}

type Requirement = (labels: Labels) => boolean;

class Parser {
  readonly #tokens: Token[];
  #at = 0;

  constructor(text: string) {
    this.#tokens = tokensOf(text);
  }

  parse(): Requirement[] {
    const requirements: Requirement[] = [];
    while (this.#next() !== END) {
      const { text, isIdentifier } = this.#next();
      if (!isIdentifier && text !== "!") throw badRequest(`found '${text}', expected: !, identifier, or 'end of string'`);
      requirements.push(this.#requirement());
      const separator = this.#take();
      if (separator === END) break;
      if (separator.text !== "," || separator.isIdentifier) throw badRequest(`found '${separator.text}', expected: ',' or 'end of string'`);
      const after = this.#next();
      if (!after.isIdentifier && after.text !== "!") throw badRequest(`found '${after.text}', expected: identifier after ','`);
    }
    return requirements;
  }

  #requirement(): Requirement {
    const absent = this.#next().text === "!" && !this.#next().isIdentifier;
    if (absent) this.#take();
    const { text: key, isIdentifier } = this.#take();
    if (!isIdentifier) throw unparsable(`found '${key}', expected: identifier`);
    const [complaint] = qualifiedNameProblems(key);
    if (complaint !== undefined) throw unparsable(`<nil>: ${invalid("", key, complaint).message}`);
    const ends = this.#next() === END || this.#next().text === ",";
    if (ends) return absent ? (labels) => !Object.hasOwn(labels, key) : (labels) => Object.hasOwn(labels, key);
    return this.#comparison(key);
  }

  #comparison(key: string): Requirement {
    const { text: operator } = this.#take();
    if (!OPERATORS.has(operator)) throw unparsable(`found '${operator}', expected: in, notin, =, ==, !=, gt, lt`);
    const values = new Set(operator === "in" || operator === "notin" ? this.#values() : [this.#value()]);
    for (const value of values) {
      const [complaint] = labelValueProblems(value);
      if (complaint !== undefined) throw unparsable(`values[0][${key}]: ${invalid("", value, complaint).message}`);
    }
    if (operator === ">" || operator === "<") return numericComparison(key, operator, [...values][0] ?? "");
    const negated = operator === "notin" || operator === "!=";
    return (labels) => {
      const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
      return value === undefined ? negated : values.has(value) !== negated;
    };
  }

  #value(): string {
    if (this.#next() === END || (this.#next().text === "," && !this.#next().isIdentifier)) return "";
    const { text, isIdentifier } = this.#take();
    if (!isIdentifier) throw unparsable(`found '${text}', expected: identifier`);
    return text;
  }

  #values(): string[] {
    const open = this.#take();
    if (open.text !== "(") throw unparsable(`found '${open.text}' expected: '('`);
    const values: string[] = [];
    for (let last = "("; ;) {
      const { text, isIdentifier } = this.#take();
      if (isIdentifier && last !== "identifier") values.push(text);
      else if (isIdentifier) throw unparsable(`found '${text}', expected: ',' or ')'`);
      else if (text === "," || text === ")") {
        if (last !== "identifier") values.push("");
        if (text === ")") return values;
      } else {
        const expected = last === "identifier" ? "',' or ')'" : last === "(" ? "',', ')' or identifier" : "',', or identifier";
        throw unparsable(`found '${text}', expected: ${expected}`);
      }
      last = isIdentifier ? "identifier" : text;
    }
  }

  #next(): Token {
    return this.#tokens[this.#at] ?? END;
  }

  #take(): Token {
    const token = this.#next();
    this.#at += 1;
    return token;
  }
}

const unparsable = (why: string) => badRequest(`unable to parse requirement: ${why}`);

function numericComparison(key: string, operator: ">" | "<", bound: string): Requirement {
  if (!/^[+-]?\d+$/.test(bound)) {
    throw unparsable(`values[0]: ${invalid("", bound, "for 'Gt', 'Lt' operators, the value must be an integer").message}`);
  }
  return (labels) => {
    const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
    if (value === undefined || !/^[+-]?\d+$/.test(value)) return false;
    return operator === ">" ? BigInt(value) > BigInt(bound) : BigInt(value) < BigInt(bound);
  };
}

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < text.length;) {
    const rest = text.slice(at);
    const symbol = SYMBOLS.find((candidate) => rest.startsWith(candidate));
    const [space = ""] = /^\s+/.exec(rest) ?? [];
    const [isIdentifier = ""] = /^[^\s()=!<>,]+/.exec(rest) ?? [];
    if (space === "")
      tokens.push(symbol === undefined ? { text: isIdentifier, isIdentifier: true } : { text: symbol, isIdentifier: false });
    at += space.length || (symbol ?? isIdentifier).length;
  }
  return tokens;
}
