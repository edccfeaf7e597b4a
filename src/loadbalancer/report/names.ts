import { fittingName, hashedName, LONGEST } from "../../api/fitting-name.ts";

/** What a label can say of a name: the name itself, or, where that is too long, its beginning with a hash of the whole. */
export function labelValue(name: string): string {
  return fittingName(name, LONGEST.label);
}

/** `<prefix><name>`, with a hash at its end where that would be too long. */
export function prefixedName(prefix: string, name: string): string {
  return fittingName(prefix + name, LONGEST.name);
}

/**
 * `<first>-<second>`. Names have dashes in them, so `a-b` and `c` join to what `a` and `b-c` join to: where such another pair exists, both carry a
 * hash at their end, as do those that would be too long.
 */
export function joinedName(first: string, second: string, exists: (first: string, second: string) => boolean): string {
  const whole = `${first}-${second}`;
  if (whole.length <= LONGEST.name && !isAmbiguous(whole, first.length, exists)) return whole;
  // A slash is in no name, so that no two pairs have the same hash.
  return hashedName(whole, `${first}/${second}`, LONGEST.name);
}

function isAmbiguous(whole: string, joint: number, exists: (first: string, second: string) => boolean): boolean {
  for (let dash = whole.indexOf("-"); dash >= 0; dash = whole.indexOf("-", dash + 1)) {
    if (dash !== joint && exists(whole.slice(0, dash), whole.slice(dash + 1))) return true;
  }
  return false;
}
