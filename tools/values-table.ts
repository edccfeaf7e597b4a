import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isMap, isScalar, parseDocument, type Node, type Pair, type YAMLMap } from "yaml";
import { padded } from "./metrics-table.ts";

const VALUES = join(import.meta.dirname, "../deploy/chart/values.yaml");

interface Value {
  readonly path: string;
  readonly given: string;
  readonly says: string;
}

/** docs/values.md: each value of the chart with its default and what it does. */
export async function valuesTable(text?: string): Promise<string> {
  const { contents } = parseDocument(text ?? (await readFile(VALUES, "utf8")));
  const rows = isMap(contents) ? valuesOf(contents, "") : [];
  const silent = rows.find(({ says }) => says === "");
  if (silent) throw new Error(`deploy/chart/values.yaml: ${silent.path} has no comment that says what it does`);
  return `# Values of the chart

Set these with \`--set\` or in a values file; see [install](install.md). \`./plumbline generate\` writes this page from \`deploy/chart/values.yaml\`.

${padded(
  ["value", "default", "what it does"],
  rows.map(({ path, given, says }) => [`\`${path}\``, `\`${given}\``, says]),
)}
`;
}

/** Those with a comment of their own are one value, whatever is in them. */
function valuesOf(map: YAMLMap, before: string): Value[] {
  return (map.items as Pair<Node, Node>[]).flatMap((pair, at) => {
    const { key, value } = pair;
    const path = `${before}${isScalar(key) ? String(key.value) : ""}`;
    // The comment above the first of a map is the map's own.
    const says = textOf(key.commentBefore) || (at === 0 ? textOf(map.commentBefore) : "");
    if (says === "" && isMap(value)) return valuesOf(value, `${path}.`);
    return [{ path, given: JSON.stringify(value?.toJSON() ?? null), says }];
  });
}

function textOf(comment: string | null | undefined): string {
  return (comment ?? "")
    .split("\n")
    .map((line) => line.trim())
    .join(" ")
    .trim();
}
