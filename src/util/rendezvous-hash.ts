/**
 * Ranks of rendezvous hashing: for each target the sources come in an order of its own, which no other source or target has a part in. The figures
 * decide which checks exist, so they must stay what they are from release to release.
 */
export function rank(source: number, target: number): number {
  return stirred(source ^ target);
}

/** FNV-1a, stirred: names that differ in one letter end up far apart. */
export function fingerprint(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return stirred(hash);
}

/** The finalizer of MurmurHash3. */
function stirred(hash: number): number {
  let h = hash;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
