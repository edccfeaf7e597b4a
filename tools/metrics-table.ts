import { glob } from "node:fs/promises";
import { join } from "node:path";
import { registry } from "../src/kube/metrics.ts";

const ROOT = join(import.meta.dirname, "..");

/** The text of docs/metrics.md. */
export async function metricsTable(): Promise<string> {
  for await (const file of glob("src/**/metrics.ts", { cwd: ROOT })) await import(join(ROOT, file));
  // prom-client keeps label names and type on the objects without naming them in its types.
  const metrics = registry.getMetricsAsArray() as unknown as { name: string; type: string; help: string; labelNames: string[] }[];
  const rows = metrics
    .filter(({ name }) => /^(plumbline|metallb)_/.test(name))
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .map(({ name, type, help, labelNames }) => [`\`${name}\``, type, labelNames.map((label) => `\`${label}\``).join(", "), help]);
  return `# Metrics

\`plumbline controller\` and \`plumbline agent\` serve these on \`/metrics\`, next to \`process_*\` and \`nodejs_*\` of prom-client.
\`./plumbline generate\` writes this page from the \`metrics.ts\` of each domain in \`src/\`.

${padded(["metric", "type", "labels", "what it says"], rows)}
`;
}

/** A Markdown table in the form that the formatter leaves alone. */
export function padded(head: string[], rows: string[][]): string {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const rule = widths.map((width) => "-".repeat(width));
  return [head, rule, ...rows].map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`).join("\n");
}
