/** An API server stores no object of more than 1.5 MB, and beside every entry of a set it stores who wrote it: what a status lists has to fit. */

/** As many as there is room for in bytes, in their order; where there is not enough, those that matter before the others. */
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

/** As long as the schema allows, which counts characters and not UTF-16 units. */
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
