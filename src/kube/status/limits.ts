/** An API server stores no object over 1.5 MB, and for every entry of a set its owner: lists in a status are limited. */

/** As many as fit, in their order; if not all fit, those that matter first. */
export function truncateList<T>(entries: readonly T[], room: number, matters: (entry: T) => boolean = () => true): T[] {
  let left = room;
  const fits = new Set<T>();
  for (const entry of [...entries.filter(matters), ...entries.filter((entry) => !matters(entry))]) {
    left -= Buffer.byteLength(JSON.stringify(entry)) + 1;
    if (left < 0) break;
    fits.add(entry);
  }
  return entries.filter((entry) => fits.has(entry));
}

/** The schema's limit counts characters, not UTF-16 units. */
export function truncate(text: string, longest: number): string {
  if (text.length <= longest) return text;
  // No character is longer than two units.
  const characters = Array.from(text.slice(0, 2 * longest + 2));
  return characters.length <= longest ? text : `${characters.slice(0, longest - 1).join("")}…`;
}

/** In one line, and no longer than that. */
export function truncateLine(text: string, longest: number): string {
  return truncate(text.replace(/\s*[\p{Cc}]+\s*/gu, " ").trim(), longest);
}
