/** For sort(), ascending. `compare(a.kind, b.kind) || compare(a.name, b.name)` sorts by two keys. */
export function compare<T extends bigint | number | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

interface Aged {
  /** Milliseconds; Infinity: younger than all others. */
  readonly since: number;
  readonly key: number | string;
}

/** For sort(): the older first, and by key among equals. */
export function byAge<T extends Aged>(a: T, b: T): number {
  return compare(a.since, b.since) || compare(a.key, b.key);
}

interface Named {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

/** For sort(): by kind in the given order, then other kinds, and by name among equals. */
export function byKindAndName(kindOrder: readonly string[]): (a: Named, b: Named) => number {
  const rank = (kind: string) => (kindOrder.includes(kind) ? kindOrder.indexOf(kind) : kindOrder.length);
  return (a, b) =>
    rank(a.kind) - rank(b.kind) || compare(a.kind, b.kind) || compare(a.namespace ?? "", b.namespace ?? "") || compare(a.name, b.name);
}
