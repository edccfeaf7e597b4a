export type IndexFunction<T> = (object: T) => Iterable<string>;

/** Most values have one key, and a set would take ten times the memory. */
type Keys = string | Set<string>;

export class CacheStore<T> {
  readonly #objects = new Map<string, T>();
  readonly #indexes = new Map<string, { valuesOf: IndexFunction<T>; keys: Map<string, Keys> }>();

  constructor(indexes: Record<string, IndexFunction<T>>) {
    for (const [name, valuesOf] of Object.entries(indexes)) this.#indexes.set(name, { valuesOf, keys: new Map() });
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  list(): T[] {
    return [...this.#objects.values()];
  }

  entries(): IterableIterator<[string, T]> {
    return this.#objects.entries();
  }

  by(name: string, value: string): T[] {
    const index = this.#indexes.get(name);
    if (!index) throw new TypeError(`no index ${name}; known: ${[...this.#indexes.keys()].join(", ") || "none"}`);
    const found: T[] = [];
    for (const key of each(index.keys.get(value))) {
      const object = this.#objects.get(key);
      if (object !== undefined) found.push(object);
    }
    return found;
  }

  put(key: string, object: T): void {
    const old = this.#objects.get(key);
    this.#objects.set(key, object);
    for (const { valuesOf, keys } of this.#indexes.values()) {
      const values = new Set(valuesOf(object));
      const before = new Set(old === undefined ? [] : valuesOf(old));
      for (const value of before) if (!values.has(value)) unlink(keys, value, key);
      for (const value of values) if (!before.has(value)) link(keys, value, key);
    }
  }

  remove(key: string): void {
    const old = this.#objects.get(key);
    if (old === undefined) return;
    this.#objects.delete(key);
    for (const { valuesOf, keys } of this.#indexes.values()) {
      for (const value of valuesOf(old)) unlink(keys, value, key);
    }
  }
}

function each(keys: Keys | undefined): Iterable<string> {
  return keys === undefined ? [] : typeof keys === "string" ? [keys] : keys;
}

function link(keys: Map<string, Keys>, value: string, key: string): void {
  const linked = keys.get(value);
  if (linked === undefined) keys.set(value, key);
  else if (typeof linked !== "string") linked.add(key);
  else if (linked !== key) keys.set(value, new Set([linked, key]));
}

function unlink(keys: Map<string, Keys>, value: string, key: string): void {
  const linked = keys.get(value);
  if (linked === key) keys.delete(value);
  if (linked === undefined || typeof linked === "string") return;
  linked.delete(key);
  const [last] = linked;
  if (linked.size === 1 && last !== undefined) keys.set(value, last);
}
