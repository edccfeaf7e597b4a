/** Shows control characters instead of sending them to the terminal of whoever reads this. Line feeds stay. */
export function printable(text: string): string {
  return text
    .replaceAll("\u001b", "^[")
    .replaceAll("\t", " ")
    .replaceAll(/[^\P{Cc}\n]/gu, "?");
}
