import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/** Rooms of src/, from the roof down. A room may import from rooms of a lower floor, and from itself. */
const FLOORS: readonly (readonly string[])[] = [
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
    const from = roomOf(file);
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
  const to = roomOf(target);
  if (!to) return file === LAB_LOADER && target.startsWith("lab/") ? undefined : `src/ stands alone; only ${LAB_LOADER} loads lab/`;
  if (from === to) return undefined;
  const [above, below] = [floorOf(from), floorOf(to)];
  if (above < 0) return `room ${from} is not on the plan in tools/import-directions.ts`;
  if (below < 0) return `room ${to} is not on the plan in tools/import-directions.ts`;
  return above < below ? undefined : `${from}/ stands ${above === below ? "beside" : "below"} ${to}/`;
}

/** Test helpers live in a testing/ folder. */
function isHelper(file: string): boolean {
  return file.split("/").slice(0, -1).includes("testing");
}

function roomOf(file: string): string | undefined {
  return file.startsWith("src/") ? file.split("/")[1] : undefined;
}

function floorOf(room: string): number {
  return FLOORS.findIndex((rooms) => rooms.includes(room));
}
