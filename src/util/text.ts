/** At most so many bytes, including the suffix, which is never cut. */
export function truncateWithSuffix(text: string, bytes: number, tail = ""): string {
  const room = bytes - Buffer.byteLength(tail);
  if (text.length * 3 <= room || Buffer.byteLength(text) <= room) return tail === "" ? text : text + tail;
  let kept = Buffer.from(text).toString("utf8", 0, room - 3);
  // A character that was cut in half.
  while (kept.endsWith("\uFFFD")) kept = kept.slice(0, -1);
  return `${kept}...${tail}`;
}

/** Without its full stop or question mark, because another sentence follows. */
export function withoutEndMark(sentence: string): string {
  return sentence.endsWith(".") || sentence.endsWith("?") ? sentence.slice(0, -1) : sentence;
}

/** `1 check`, `4 checks` */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** The first items, and how many are left out: `a, b, c and 4 more`. */
export function joinFirst(items: readonly string[], most: number, { separator = ", ", more = " and " } = {}): string {
  const left = items.length - most;
  return items.slice(0, most).join(separator) + (left > 0 ? `${more}${left} more` : "");
}

/** The first lines, and one that says how many are left out. */
export function firstLines(lines: readonly string[], most: number, hint = ""): string[] {
  const left = lines.length - most;
  return left > 0 ? [...lines.slice(0, most), `and ${left} more${hint}`] : [...lines];
}
