import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/** Folders of src/, from the top level down. A folder may import from folders of a lower level, and from itself. */
const LEVELS: readonly (readonly string[])[] = [
  ["main.ts", "p2pnc.ts"],
  ["cli"],
  ["web"],
  ["explain"],
  ["router", "loadbalancer", "failover", "connectivity", "embedded"],
  ["resilience"],
  ["frr", "hostnet", "kube"],
  ["api", "ip"],
  ["util"],
];
const LAB_LOADER = "src/cli/shared/lab-loader.ts";
const IMPORT = /(?:^|\n)\s*(?:import|export)\b[^;'"]*?["'](\.[^"']+)["']|\bimport\(\s*["'](\.[^"']+)["']\s*\)/g;

/** Complaints about imports that point the wrong way, one line each. */
export function importProblems(root: string, files: readonly string[]): string[] {
  const problems: string[] = [];
  for (const file of files) {
    const from = folderOf(file);
    if (!from || file.endsWith(".test.ts")) continue;
    for (const match of readFileSync(join(root, file), "utf8").matchAll(IMPORT)) {
      const target = relative(root, join(root, dirname(file), match[1] ?? match[2] ?? ""));
      const problem = isHelper(target) && !isHelper(file) ? "only tests use testing/" : complain(file, from, target);
      if (problem) problems.push(`${file} imports ${target}: ${problem}`);
    }
  }
  return problems;
}

function complain(file: string, from: string, target: string): string | undefined {
  const to = folderOf(target);
  if (!to) return file === LAB_LOADER && target.startsWith("lab/") ? undefined : `only ${LAB_LOADER} may import lab/`;
  if (from === to) return undefined;
  const [above, below] = [levelOf(from), levelOf(to)];
  if (above < 0) return `folder ${from} is missing in tools/import-directions.ts`;
  if (below < 0) return `folder ${to} is missing in tools/import-directions.ts`;
  return above < below ? undefined : `${from}/ is ${above === below ? "on the same level as" : "below"} ${to}/`;
}

/** Test helpers live in a testing/ folder. */
function isHelper(file: string): boolean {
  return file.split("/").slice(0, -1).includes("testing");
}

function folderOf(file: string): string | undefined {
  return file.startsWith("src/") ? file.split("/")[1] : undefined;
}

function levelOf(folder: string): number {
  return LEVELS.findIndex((folders) => folders.includes(folder));
}
