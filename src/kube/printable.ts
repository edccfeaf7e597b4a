/** Shows control characters instead of sending them to the terminal of whoever reads this. Line feeds stay. */
export function printable(text: string): string {
  return text
    .replaceAll("\u001b", "^[")
    .replaceAll("\t", " ")
    .replaceAll(/[^\P{Cc}\n]/gu, "?");
}

/** The colors that our own output has: none of them can hide anything. */
// oxlint-disable-next-line no-control-regex
const COLOR = /(\u001b\[(?:1|22|31|32|33|39|90)m)/;

/** Prints for people: of what controls a terminal only our colors get there. Data for programs goes out as it is. */
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
