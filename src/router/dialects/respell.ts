import { quote } from "../../ip/error.ts";
import { child, isObject, type JsonObject } from "../../api/admission/value.ts";

export interface FieldLoss {
  readonly field: string;
  readonly message: string;
}

/** How one setting is written in two consecutive versions of the API. A missing name: that version does not have the setting. */
export interface Spelling {
  readonly older?: string;
  readonly newer?: string;
  /** Of the object, or of each item of the list, where they differ. */
  readonly fields?: readonly Spelling[];
  /** Undefined: it is left out; what gets lost is reported to `lose`. */
  readonly toNewer?: (value: never, lose: Lose) => unknown;
  readonly toOlder?: (value: never, lose: Lose) => unknown;
}

type Lose = (message: string, below?: string) => void;

/** Declares a setting whose values differ too. The schema has checked the values. */
export function setting<Older, Newer>(spelling: {
  readonly older: string;
  readonly newer: string;
  readonly toNewer: (value: Older, lose: Lose) => Newer | undefined;
  readonly toOlder: (value: Newer, lose: Lose) => Older | undefined;
}): Spelling {
  return spelling;
}

/** A setting whose values have other names too. */
export function named(older: string, newer: string, values: Readonly<Record<string, string>>): Spelling {
  const back = Object.fromEntries(Object.entries(values).map(([from, to]) => [to, from]));
  return { older, newer, toNewer: valueIn(values), toOlder: valueIn(back) };
}

function valueIn(names: Readonly<Record<string, string>>) {
  return (value: string, lose: Lose) => {
    if (Object.hasOwn(names, value)) return names[value];
    lose(`Unknown value ${quote(value)}`);
    return undefined;
  };
}

export interface Respelled {
  readonly value: unknown;
  readonly losses: readonly FieldLoss[];
  /** The field of the result as the original has it. */
  originalOf(field: string): string;
}

/** Writes a value in the names of the next or the previous version. `version` is the name of that version. */
export function respell(value: unknown, spellings: readonly Spelling[], to: "newer" | "older", version: string): Respelled {
  const losses: FieldLoss[] = [];
  const originals = new Map<string, string>();
  const from = to === "newer" ? "older" : "newer";

  function each(object: unknown, known: readonly Spelling[], at: string, target: string): unknown {
    if (Array.isArray(object)) return object.map((item, nth) => each(item, known, `${at}[${nth}]`, `${target}[${nth}]`));
    if (!isObject(object)) return object;
    const result: JsonObject = {};
    for (const [name, content] of Object.entries(object)) {
      // As the server does with it.
      if (content === null) continue;
      const field = child(at, name);
      const spelling = known.find((one) => one[from] === name);
      const newName = spelling ? spelling[to] : name;
      if (newName === undefined) {
        losses.push({ field, message: `${version} has no such setting` });
        continue;
      }
      const position = child(target, newName);
      if (position !== field) originals.set(position, field);
      const lose: Lose = (message, below = "") => losses.push({ field: `${field}${below}`, message });
      const translate = to === "newer" ? spelling?.toNewer : spelling?.toOlder;
      const written = translate ? translate(content as never, lose) : each(content, spelling?.fields ?? [], field, position);
      if (written !== undefined) result[newName] = written;
    }
    return result;
  }

  return { value: each(value, spellings, "", ""), losses, originalOf: (field) => originalIn(originals, field) };
}

function originalIn(originals: ReadonlyMap<string, string>, field: string): string {
  for (let end = field.length; end > 0; end = Math.max(field.lastIndexOf(".", end - 1), field.lastIndexOf("[", end - 1))) {
    const original = originals.get(field.slice(0, end));
    if (original !== undefined) return original + field.slice(end);
  }
  return field;
}
