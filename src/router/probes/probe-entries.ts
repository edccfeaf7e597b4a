import { run } from "../../hostnet/run.ts";

/** Of a locally administered range: `pl` and the node index. */
export function probeMac(index: number): string {
  return ["02", "70", "6c", ...[16, 8, 0].map((shift) => ((index >>> shift) & 0xff).toString(16).padStart(2, "0"))].join(":");
}

export interface ProbeEntry {
  readonly bridge: string;
  readonly vxlan: string;
  /** Of another node, or our own. */
  readonly index: number;
  /** Where the other node is; missing for our own MAC. */
  readonly vtep?: string;
}

/**
 * FDB entries with which a probe goes to one node and not to all nodes of a VNI: our own probe MAC is local to the bridge; that of a peer is behind the VXLAN
 * device, at the peer's VTEP. They go with the devices. `replace` also repairs what somebody removed.
 */
export async function replaceProbeEntries(netns: string, entries: readonly ProbeEntry[], signal: AbortSignal): Promise<void> {
  await batch(
    netns,
    entries.flatMap((entry) => linesOf(entry, "replace")),
    signal,
  );
}

export async function removeProbeEntries(netns: string, entries: readonly ProbeEntry[], signal: AbortSignal): Promise<void> {
  await batch(
    netns,
    entries.flatMap((entry) => linesOf(entry, "del")),
    signal,
  );
}

function linesOf({ bridge, vxlan, index, vtep }: ProbeEntry, verb: "replace" | "del"): string[] {
  const mac = probeMac(index);
  if (vtep === undefined) return [`fdb ${verb} ${mac} dev ${bridge} self permanent`];
  return [`fdb ${verb} ${mac} dev ${vxlan} master static`, `fdb ${verb} ${mac} dev ${vxlan} dst ${vtep} self static`];
}

/** `-force`: a device that has just gone takes nothing else with it. */
async function batch(netns: string, lines: readonly string[], signal: AbortSignal): Promise<void> {
  if (lines.length === 0) return;
  await run("sh", ["-c", `printf '%s\\n' "$@" | bridge -n "$0" -force -batch - 2>/dev/null || true`, netns, ...lines], {
    signal,
    namespace: netns,
  });
}
