/** Escapes control characters for the terminal. Line feeds stay. */
export function printable(text: string): string {
  return text
    .replaceAll("\u001b", "^[")
    .replaceAll("\t", " ")
    .replaceAll(/[^\P{Cc}\n]/gu, "?");
}

/** The colors of our own output, which cannot hide anything. */
// oxlint-disable-next-line no-control-regex
const COLOR = /(\u001b\[(?:1|22|31|32|33|39|90)m)/;

/** For people: only our own colors reach the terminal. Data for programs is written unchanged. */
export function print(text: string): void {
  process.stdout.write(printableInColor(text));
}

export function printError(text: string): void {
  process.stderr.write(printableInColor(text));
}

function printableInColor(text: string): string {
  return text
    .split(COLOR)
    .map((part, at) => (at % 2 === 1 ? part : printable(part)))
    .join("");
}
