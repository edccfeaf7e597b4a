const DECIMAL = /^\d+$/;

/** Orders resourceVersions as the numbers they are, however long. Negative when `a` is the older one. */
export function compareResourceVersions(a: string, b: string): number {
  if (a === b) return 0;
  if (!DECIMAL.test(a) || !DECIMAL.test(b)) {
    throw new TypeError(`resourceVersions ${JSON.stringify(a)} and ${JSON.stringify(b)} are not both decimal numbers`);
  }
  const [left, right] = [a.replace(/^0+(?=\d)/, ""), b.replace(/^0+(?=\d)/, "")];
  if (left.length !== right.length) return left.length - right.length;
  return left < right ? -1 : left > right ? 1 : 0;
}
