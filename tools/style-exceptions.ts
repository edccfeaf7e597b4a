import type { Violation } from "./style-text.ts";

/** Check, then word or name, then how often. */
export type Counts = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** What `tools/style-exceptions.tsv` holds. */
export interface Recorded {
  /** At the start: tests, assertions, properties, which may not become fewer, and the lines of the product. */
  baseline: ReadonlyMap<string, number>;
  counts: Counts;
}

/** A row of `tools/style-allowed.tsv`. */
export interface Allowed {
  check: string;
  item: string;
  path: string;
  reason: string;
}

const HEAD = `# Violations of the style checks that are still there, written by \`./plumbline style --write\`. The list only shrinks.
# A row is: check, word or name, how often it occurs in the whole tree. Rows hold no paths: moving or renaming files needs no change here
# as long as no count grows. \`npm run check\` fails when a count is higher than here, and when it is lower (run \`./plumbline style --write\`).
# After a merge conflict keep either side and run the command. What stays for good is in style-allowed.tsv, with a reason.
`;

export function countsOf(violations: ReadonlyMap<string, readonly Violation[]>): Counts {
  return new Map(
    [...violations].map(([check, all]) => {
      const counts = new Map<string, number>();
      for (const { item } of all) counts.set(item, (counts.get(item) ?? 0) + 1);
      return [check, counts];
    }),
  );
}

export function parseRecorded(text: string): Recorded {
  const baseline = new Map<string, number>();
  const counts = new Map<string, Map<string, number>>();
  for (const [check = "", item = "", number = ""] of rowsOf(text)) {
    if (check === "baseline") baseline.set(item, Number(number));
    else counts.set(check, (counts.get(check) ?? new Map<string, number>()).set(item, Number(number)));
  }
  return { baseline, counts };
}

export function printRecorded({ baseline, counts }: Recorded): string {
  const rows = [...baseline].map(([item, number]) => `baseline\t${item}\t${number}`);
  for (const [check, items] of counts) {
    for (const [item, number] of [...items].sort(([a], [b]) => (a < b ? -1 : 1))) rows.push(`${check}\t${item}\t${number}`);
  }
  return `${HEAD}${rows.join("\n")}\n`;
}

export function parseAllowed(text: string): Allowed[] {
  return rowsOf(text).map(([check = "", item = "", path = "", reason = ""]) => ({ check, item, path, reason }));
}

/** Whether a row speaks of a violation. `*` is every item or path; a path that ends in a slash is everything below it. */
export function allows(row: Allowed, check: string, { item, path }: Violation): boolean {
  const isPath = row.path === "*" || row.path === path || (row.path.endsWith("/") && path.startsWith(row.path));
  return row.check === check && isPath && (row.item === "*" || row.item === item);
}

interface Difference {
  check: string;
  item: string;
  now: number;
  recorded: number;
}

export function differences(now: Counts, recorded: Counts): { grown: Difference[]; shrunk: Difference[] } {
  const all: Difference[] = [];
  for (const check of new Set([...now.keys(), ...recorded.keys()])) {
    const [today, before] = [now.get(check), recorded.get(check)];
    for (const item of new Set([...(today?.keys() ?? []), ...(before?.keys() ?? [])])) {
      all.push({ check, item, now: today?.get(item) ?? 0, recorded: before?.get(item) ?? 0 });
    }
  }
  return { grown: all.filter(({ now, recorded }) => now > recorded), shrunk: all.filter(({ now, recorded }) => now < recorded) };
}

/** The lower of both for each count: the list that may be written. */
export function shrink(recorded: Counts, now: Counts): Counts {
  return new Map(
    [...now.keys()].map((check) => {
      const [today, before] = [now.get(check), recorded.get(check)];
      const items = [...(today ?? [])].map(([item, count]) => [item, Math.min(count, before?.get(item) ?? 0)] as const);
      return [check, new Map(items.filter(([, count]) => count > 0))];
    }),
  );
}

function rowsOf(text: string): string[][] {
  return text.split("\n").flatMap((line) => (line === "" || line.startsWith("#") ? [] : [line.split("\t")]));
}
