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
