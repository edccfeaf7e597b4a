import { isObject } from "../../api/admission/value.ts";

/** Both count from 0. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

export interface ParseError extends Position {
  readonly message: string;
}

export function duplicateKey(name: string): string {
  return `${JSON.stringify(name)} is duplicated in this map`;
}

/**
 * The positions of a value's fields, without its text or syntax tree: line and column of the value itself, then of each key and list item,
 * depth first, in JavaScript's order of keys.
 */
export type Positions = Uint32Array;

export class PositionRecorder {
  readonly #numbers: number[] = [];

  add(position: Position): void {
    this.#numbers.push(position.line, position.column);
  }

  get count(): number {
    return this.#numbers.length / 2;
  }

  positions(): Positions {
    return Uint32Array.from(this.#numbers);
  }

  /** Sorts the parts of one object from the order of the text into JavaScript's order of keys. */
  reorder(from: number, parts: readonly { key: string; from: number; to: number }[]): void {
    const ordered = inListingOrder(parts, ({ key }) => key);
    const numbers = ordered.flatMap((part) => this.#numbers.slice(part.from * 2, part.to * 2));
    for (const [index, number] of numbers.entries()) this.#numbers[from * 2 + index] = number;
  }
}

const INDEX = /^(0|[1-9][0-9]{0,9})$/;

export function isIndex(key: string): boolean {
  return INDEX.test(key) && Number(key) < 2 ** 32 - 1;
}

/** JavaScript lists keys that look like an index first, sorted; the others in insertion order. */
export function inListingOrder<T>(entries: readonly T[], keyOf: (entry: T) => string): readonly T[] {
  const indexes = entries.filter((entry) => isIndex(keyOf(entry)));
  if (indexes.length === 0) return entries;
  indexes.sort((a, b) => Number(keyOf(a)) - Number(keyOf(b)));
  return [...indexes, ...entries.filter((entry) => !isIndex(keyOf(entry)))];
}

/**
 * The position of a field, or of its nearest existing parent: `spec.vni`, `spec.ports[2].name`, `metadata.labels[app.kubernetes.io/name]`.
 */
export function positionOf(value: unknown, positions: Positions, field: string): Position {
  let index = 0;
  let within = value;
  for (const step of stepsOf(field)) {
    const found = stepInto(within, step, index);
    if (!found) break;
    ({ index, value: within } = found);
  }
  return { line: positions[index * 2] ?? 0, column: positions[index * 2 + 1] ?? 0 };
}

export function itemPositions(object: object, positions: Positions, field: string): Positions[] {
  const list = stepInto(object, field, 0);
  if (!list || !Array.isArray(list.value)) return [];
  let from = list.index + 1;
  return list.value.map((item) => {
    const start = from;
    from += 1 + sizeOf(item);
    return positions.subarray(start * 2, from * 2);
  });
}

function stepInto(value: unknown, step: string, index: number): { index: number; value: unknown } | undefined {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
  let at = index + 1;
  for (const [key, member] of Object.entries(value)) {
    if (key === step) return { index: at, value: member };
    at += 1 + sizeOf(member);
  }
  return undefined;
}

function sizeOf(value: unknown): number {
  if (!Array.isArray(value) && !isObject(value)) return 0;
  let size = 0;
  for (const member of Object.values(value)) size += 1 + sizeOf(member);
  return size;
}

function stepsOf(field: string): string[] {
  return Array.from(field.matchAll(/\[([^\]]*)\]|([^.[\]]+)/g), ([, bracketed, name]) => bracketed ?? name ?? "");
}
