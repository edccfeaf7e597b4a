import type { ConfigLine, Fragment } from "./fragment.ts";

/** Every line of these fragments, each with its contexts. */
export function desiredLinePaths(fragments: readonly Fragment[]): Set<string> {
  const paths = new Set<string>();
  const collect = (lines: readonly ConfigLine[], path: string) => {
    for (const { line, inside } of lines) {
      paths.add(`${path}\n${line}`);
      if (inside) collect(inside, `${path}\n${line}`);
    }
  };
  for (const { lines } of fragments) collect(lines, "");
  return paths;
}

export function onlyDesired(lines: readonly ConfigLine[], wanted: ReadonlySet<string>, path = ""): ConfigLine[] {
  return lines.flatMap(({ line, inside }) => {
    const here = `${path}\n${line}`;
    if (!wanted.has(here)) return [];
    return [inside ? { line, inside: onlyDesired(inside, wanted, here) } : { line }];
  });
}
