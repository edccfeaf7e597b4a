const DECIMAL = /^\d+$/;

/** Compares as numbers of any length. Negative if `a` is older. */
export function compareResourceVersions(a: string, b: string): number {
  if (a === b) return 0;
  if (!DECIMAL.test(a) || !DECIMAL.test(b)) {
    throw new TypeError(`resourceVersions ${JSON.stringify(a)} and ${JSON.stringify(b)} are not both decimal numbers`);
  }
  const [left, right] = [a.replace(/^0+(?=\d)/, ""), b.replace(/^0+(?=\d)/, "")];
  if (left.length !== right.length) return left.length - right.length;
  return left < right ? -1 : left > right ? 1 : 0;
}
