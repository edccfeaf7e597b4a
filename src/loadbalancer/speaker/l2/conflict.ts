/**
 * Whether this node releases an address for which another MAC answers too. The later in election order does; an unknown MAC may belong to
 * any node before this one.
 */
export function shouldRelease(self: string, candidates: readonly string[], rival: string | undefined): boolean {
  const own = candidates.indexOf(self);
  if (own < 0) return true;
  const other = rival === undefined ? 0 : candidates.indexOf(rival);
  return other >= 0 && other < own;
}

/** Of two nodes that probe at the same time, whether this one waits. If heartbeats do not identify the other, the MACs decide. */
export function shouldWait(
  own: { readonly node: string; readonly mac: string },
  rival: { readonly node: string | undefined; readonly mac: string },
  candidates: readonly string[],
): boolean {
  const ours = candidates.indexOf(own.node);
  const theirs = rival.node === undefined ? -1 : candidates.indexOf(rival.node);
  return ours >= 0 && theirs >= 0 ? theirs < ours : rival.mac < own.mac;
}
