import { stripVTControlCharacters } from "node:util";

/** Breaks a line between words; further lines are indented a little more. A line with colors stays as it is. */
export function wrapLine(line: string, width: number): string[] {
  if (line.length <= width || stripVTControlCharacters(line) !== line) return [line];
  const indent = /^ */.exec(line)?.[0] ?? "";
  const lines: string[] = [];
  let current = "";
  for (const token of line.trimStart().split(" ")) {
    const start = lines.length === 0 ? indent : `${indent}  `;
    const longer = current === "" ? start + token : `${current} ${token}`;
    if (longer.length <= width || current === "") current = longer;
    else {
      lines.push(current);
      current = `${indent}  ${token}`;
    }
  }
  return [...lines, current];
}
