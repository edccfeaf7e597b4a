import { keyOf, type Kind, type KubeObject } from "../api/kind.ts";
import type { Index, ObjectReader } from "../api/health.ts";
import { ensure } from "../util/map.ts";

/** A read: one object, the objects with an index value, or all of a kind. */
export type Query = string;

type Found = Map<string, KubeObject>;

/** The objects by kind. Tells which queries a change affects, so that only their readers run again. */
export class TrackedObjects {
  readonly #kinds = new Map<string, Found>();
  /** Built on first use: most explainers never run in a cluster without their kinds. */
  readonly #indexes = new Map<Index, { readonly number: number; readonly found: Map<string, Found> }>();

  /** Stores the object and returns the affected queries. */
  put(kind: Kind, object: KubeObject): Query[] {
    const key = keyOf(object);
    const of = this.#of(kind);
    const before = of.get(key);
    of.set(key, object);
    return [...queriesOf(kind, key), ...this.#reindex(kind, key, before, object)];
  }

  drop(kind: Kind, key: string): Query[] {
    const of = this.#of(kind);
    const before = of.get(key);
    if (!before) return [];
    of.delete(key);
    return [...queriesOf(kind, key), ...this.#reindex(kind, key, before, undefined)];
  }

  get(kind: Kind, key: string): KubeObject | undefined {
    return this.#of(kind).get(key);
  }

  /** Records its queries in `queries`. */
  reader(queries: Set<Query>): ObjectReader {
    return {
      get: <T extends KubeObject>(kind: Kind<T>, key: string) => {
        queries.add(queryOne(kind, key));
        return this.#of(kind).get(key) as T | undefined;
      },
      by: <T extends KubeObject>(index: Index<T>, value: string) => {
        const { number, found } = this.#indexed(index as unknown as Index);
        queries.add(queryBy(number, value));
        return [...(found.get(value)?.values() ?? [])] as T[];
      },
      all: <T extends KubeObject>(kind: Kind<T>) => {
        queries.add(queryAll(kind));
        return [...this.#of(kind).values()] as T[];
      },
    };
  }

  #of(kind: Kind): Found {
    return ensure(this.#kinds, kindName(kind), () => new Map());
  }

  #indexed(index: Index) {
    const known = this.#indexes.get(index);
    if (known) return known;
    const indexed = { number: this.#indexes.size, found: new Map<string, Found>() };
    for (const [key, object] of this.#of(index.kind)) addTo(indexed.found, index.of(object), key, object);
    this.#indexes.set(index, indexed);
    return indexed;
  }

  #reindex(kind: Kind, key: string, before: KubeObject | undefined, after: KubeObject | undefined): Query[] {
    const touched: Query[] = [];
    for (const [index, { number, found }] of this.#indexes) {
      if (kindName(index.kind) !== kindName(kind)) continue;
      const left = before ? index.of(before) : [];
      const entered = after ? index.of(after) : [];
      for (const value of left) found.get(value)?.delete(key);
      if (after) addTo(found, entered, key, after);
      for (const value of new Set([...left, ...entered])) touched.push(queryBy(number, value));
    }
    return touched;
  }
}

/** Which of the values that were computed from queries must be computed again. */
export class StaleReaders {
  readonly stale = new Set<string>();
  readonly #readers = new Map<Query, Set<string>>();
  readonly #queries = new Map<string, ReadonlySet<Query>>();

  /** The results of these queries have changed. */
  changed(queries: Iterable<Query>): void {
    for (const query of queries) for (const reader of this.#readers.get(query) ?? []) this.stale.add(reader);
  }

  record(reader: string, queries: ReadonlySet<Query> | undefined): void {
    for (const query of this.#queries.get(reader) ?? []) {
      const readers = this.#readers.get(query);
      readers?.delete(reader);
      if (readers?.size === 0) this.#readers.delete(query);
    }
    this.#queries.delete(reader);
    if (!queries) return;
    this.#queries.set(reader, queries);
    for (const query of queries) ensure(this.#readers, query, () => new Set()).add(reader);
  }
}

function addTo(found: Map<string, Found>, values: readonly string[], key: string, object: KubeObject): void {
  for (const value of values) ensure(found, value, () => new Map()).set(key, object);
}

export function kindName({ group, kind }: Kind): string {
  return `${kind}.${group}`;
}

function queriesOf(kind: Kind, key: string): Query[] {
  return [queryOne(kind, key), queryAll(kind)];
}

const queryOne = (kind: Kind, key: string): Query => `one ${kindName(kind)} ${key}`;
const queryAll = (kind: Kind): Query => `all ${kindName(kind)}`;
const queryBy = (number: number, value: string): Query => `by ${number} ${value}`;
