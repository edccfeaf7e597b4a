const MAX_EDITS = 3;
const MIN_SIMILARITY = 0.4;

/** The candidates with the fewest edits, if they are similar at all. */
export function nearest(text: string, candidates: Iterable<string>): string[] {
  let best: string[] = [];
  let fewest = MAX_EDITS;
  for (const candidate of new Set(candidates)) {
    const length = Math.max(text.length, candidate.length);
    if (Math.abs(text.length - candidate.length) > fewest) continue;
    const edits = distance(text.toLowerCase(), candidate.toLowerCase());
    if (edits > fewest || (length - edits) / length <= MIN_SIMILARITY) continue;
    if (edits < fewest) best = [];
    fewest = edits;
    best.push(candidate);
  }
  return best.sort();
}

/** ` (Did you mean controller?)` in commander's words; empty if nothing is similar. */
export function didYouMean(text: string, candidates: Iterable<string>): string {
  const near = nearest(text, candidates);
  if (near.length === 0) return "";
  return near.length === 1 ? ` (Did you mean ${near[0]}?)` : ` (Did you mean one of ${near.join(", ")}?)`;
}

/** Insertions, deletions, substitutions and swaps of neighbors. */
function distance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const substituted = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? at(beforeLast, j - 2) + 1 : Infinity;
      row.push(Math.min(substituted, at(last, j) + 1, at(row, j - 1) + 1, swapped));
    }
    beforeLast = last;
    last = row;
  }
  return at(last, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Infinity;
}
