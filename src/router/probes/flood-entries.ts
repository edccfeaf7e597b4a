import { run } from "../../hostnet/run.ts";

export interface FloodList {
  readonly vxlan: string;
  /** The remote VTEPs that FRR has for the VNI. */
  readonly vteps: readonly string[];
}

/** What is flooded goes to these addresses. */
const FLOODED = "00:00:00:00:00:00";

/** Adds the flood entries that FRR believes to have made and that the kernel does not have. Returns them as `vni110 100.65.0.2`. */
export async function repairFloodEntries(netns: string, lists: readonly FloodList[], signal: AbortSignal): Promise<string[]> {
  if (lists.every(({ vteps }) => vteps.length === 0)) return [];
  // Only these of all entries: there may be tens of thousands.
  const script = `bridge -n "$0" fdb show | grep '^${FLOODED} ' || true`;
  const { stdout } = await run("sh", ["-c", script, netns], { signal, namespace: netns });
  const have = new Set<string>();
  for (const line of stdout.split("\n")) {
    const [, vxlan, vtep] = / dev (\S+) dst (\S+)/.exec(line) ?? [];
    if (vxlan !== undefined) have.add(`${vxlan} ${vtep}`);
  }
  const missing = lists.flatMap(({ vxlan, vteps }) => vteps.map((vtep) => `${vxlan} ${vtep}`)).filter((entry) => !have.has(entry));
  const lines = missing.map((entry) => {
    const [vxlan, vtep] = entry.split(" ");
    return `fdb append ${FLOODED} dev ${vxlan} dst ${vtep} self permanent`;
  });
  if (lines.length === 0) return [];
  // FRR may have removed a VTEP, or added the entry, in between.
  const add = `printf '%s\\n' "$@" | bridge -n "$0" -force -batch - 2>/dev/null || true`;
  await run("sh", ["-c", add, netns, ...lines], { signal, namespace: netns });
  return missing;
}
