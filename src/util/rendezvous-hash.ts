/**
 * Rendezvous hashing: each target has its own order of sources, independent of others. The values decide which checks exist, so they must
 * not change between releases.
 */
export function rank(source: number, target: number): number {
  return stirred(source ^ target);
}

/** FNV-1a with a finalizer, so that similar names get distant values. */
export function fingerprint(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return stirred(hash);
}

function stirred(hash: number): number {
  let h = hash;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
