import { objectName, hashedName, MAX_NAME_LENGTH } from "../../api/object-name.ts";

/** A name as a label value: the name itself, or if too long, its beginning with a hash of the whole. */
export function labelValue(name: string): string {
  return objectName(name, MAX_NAME_LENGTH.label);
}

/** `<prefix><name>`, with a hash at its end where that would be too long. */
export function prefixedName(prefix: string, name: string): string {
  return objectName(prefix + name, MAX_NAME_LENGTH.name);
}

/**
 * `<first>-<second>`. Names have dashes in them, so `a-b` and `c` join to what `a` and `b-c` join to: where such another pair exists, both carry a
 * hash at their end, as do those that would be too long.
 */
export function joinedName(first: string, second: string, exists: (first: string, second: string) => boolean): string {
  const whole = `${first}-${second}`;
  if (whole.length <= MAX_NAME_LENGTH.name && !isAmbiguous(whole, first.length, exists)) return whole;
  // A slash is in no name, so that no two pairs have the same hash.
  return hashedName(whole, `${first}/${second}`, MAX_NAME_LENGTH.name);
}

function isAmbiguous(whole: string, joint: number, exists: (first: string, second: string) => boolean): boolean {
  return splits(whole).some(([first, second]) => first.length !== joint && exists(first, second));
}

/** Of the pairs that exist, those that have this name: one at most, unless `exists` changes. */
export function pairsNamed(
  name: string,
  pairs: { exists: (first: string, second: string) => boolean; firsts: () => Iterable<string>; seconds: () => Iterable<string> },
): [first: string, second: string][] {
  const [, readable] = /^(.*)-[0-9a-f]{10}$/.exec(name) ?? [];
  const candidates = [...splits(name), ...(readable === undefined ? [] : splits(readable))];
  // Of one that was too long only the beginning is left.
  if (readable !== undefined && name.length > MAX_NAME_LENGTH.name - 30) {
    for (const first of pairs.firsts()) {
      if (readable.startsWith(first) || first.startsWith(readable)) for (const second of pairs.seconds()) candidates.push([first, second]);
    }
  }
  return candidates.filter(([first, second]) => pairs.exists(first, second) && joinedName(first, second, pairs.exists) === name);
}

function* splits(whole: string): Generator<[string, string]> {
  for (let dash = whole.indexOf("-"); dash >= 0; dash = whole.indexOf("-", dash + 1)) yield [whole.slice(0, dash), whole.slice(dash + 1)];
}
