import type { ExportsOf, ProbeInputs, ProbePeer } from "./probes/prober.ts";

/** A joining node publishes its VNIs a moment before its routes arrive; a restarted FRR learns them again. */
const ABSENT_OBSERVATIONS = 3;

/**
 * How often in a row FRR lacked the VTEP of a node, by `INDEX VNI`. An observation of an L3 VNI counts half: what a peer announces is known from its last answer, which may
 * be of the time before its FRR restarted.
 */
export type AbsentVteps = ReadonlyMap<string, number>;

interface Expected extends Pick<ProbeInputs, "index" | "vnis" | "members" | "peers" | "routerMac"> {
  readonly isConnected: boolean;
  readonly exportsOf: ExportsOf;
}

/**
 * Compares the nodes that have a VNI applied with those that FRR knows for it. In an L3 VNI these are the nodes that say with their answers that they announce
 * prefixes, with the route targets that this node imports: without a prefix a node has no router MAC.
 */
export function absentVteps(
  { index, vnis, members, peers, isConnected, routerMac, exportsOf }: Expected,
  vteps: ReadonlyMap<number, readonly string[]>,
  before: AbsentVteps,
  step: 0 | 1 = 1,
): AbsentVteps {
  const absent = new Map<string, number>();
  // Without a session there are no routes; after it is up again they take a moment.
  if (!isConnected) return absent;
  for (const { vni, type, imports } of vnis) {
    const known = new Set(vteps.get(vni));
    const isAbsent = (other: number, { vtep }: ProbePeer) => {
      if (type === "L2") return !known.has(vtep);
      return imports !== undefined && exportsOf(vni, other) === imports && routerMac(vni, vtep) === undefined;
    };
    for (const other of members.get(vni) ?? []) {
      const peer = peers.get(other);
      if (other === index || !peer?.isLive || !isAbsent(other, peer)) continue;
      const key = `${other} ${vni}`;
      absent.set(key, (before.get(key) ?? 0) + (type === "L2" ? step : step / 2));
    }
  }
  return absent;
}

/** The node indexes by VNI. */
export function lackingRoutes(absent: AbsentVteps): Map<number, number[]> {
  // Those that are about to be reported are in the same report: one node alone would look like its fault.
  const isDue = absent.values().some((count) => count >= ABSENT_OBSERVATIONS);
  const least = isDue ? ABSENT_OBSERVATIONS - 1 : Infinity;
  const lacking = new Map<number, number[]>();
  for (const [key, count] of absent) {
    const [index = NaN, vni = NaN] = key.split(" ").map(Number);
    if (count < least) continue;
    const nodes = lacking.get(vni);
    if (nodes) nodes.push(index);
    else lacking.set(vni, [index]);
  }
  return lacking;
}
