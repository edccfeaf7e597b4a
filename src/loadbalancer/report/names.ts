import { createHash } from "node:crypto";

/** Of an object's name, and of a label's value. */
const LONGEST = { name: 253, label: 63 };

/** What a label can say of a name: the name itself, or, where that is too long, its beginning with a hash of the whole. */
export function labelValue(name: string): string {
  return name.length <= LONGEST.label ? name : hashed(name, name, LONGEST.label);
}

/** `<prefix><name>`, with a hash at its end where that would be too long. */
export function prefixedName(prefix: string, name: string): string {
  const whole = prefix + name;
  return whole.length <= LONGEST.name ? whole : hashed(whole, whole, LONGEST.name);
}

/**
 * `<first>-<second>`. Names have dashes in them, so `a-b` and `c` join to what `a` and `b-c` join to: where such another pair exists, both carry a
 * hash at their end, as do those that would be too long.
 */
export function joinedName(first: string, second: string, exists: (first: string, second: string) => boolean): string {
  const whole = `${first}-${second}`;
  if (whole.length <= LONGEST.name && !isAmbiguous(whole, first.length, exists)) return whole;
  // A slash is in no name, so that no two pairs have the same hash.
  return hashed(whole, `${first}/${second}`, LONGEST.name);
}

function isAmbiguous(whole: string, joint: number, exists: (first: string, second: string) => boolean): boolean {
  for (let dash = whole.indexOf("-"); dash >= 0; dash = whole.indexOf("-", dash + 1)) {
    if (dash !== joint && exists(whole.slice(0, dash), whole.slice(dash + 1))) return true;
  }
  return false;
}

function hashed(readable: string, identity: string, longest: number): string {
  const hash = createHash("sha256").update(identity).digest("hex").slice(0, 10);
  // Between two dots, and before a dash that ends a part, a name must have a letter or digit.
  const beginning = readable.slice(0, longest - 1 - hash.length).replace(/[^a-z0-9]+$/i, "");
  return `${beginning}-${hash}`;
}
