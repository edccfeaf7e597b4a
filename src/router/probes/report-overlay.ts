import type { ConditionReport } from "../../kube/status/conditions.ts";
import type { ProbedPair, ProbeReport } from "./probe-report.ts";
import { printRanges } from "./overlay-map.ts";

/** Reasons of `status.overlay.failing[]`. */
type OverlayReason = "NoAnswerInVNI" | "NoEVPNRoute" | "NoRouterMAC" | "NoPath" | "NoAnswer" | "TooLarge" | "Loss";

interface FailingPath {
  readonly node: string;
  readonly reason: OverlayReason;
  readonly vnis?: string;
  readonly message: string;
  /** By the monotonic clock, if it is known. */
  readonly since?: number;
}

export interface OverlayReport {
  /** Pairs of a VNI or an underlay path and another node. */
  readonly probed: number;
  readonly failing: readonly FailingPath[];
  /** Neither answered nor failing, and not new. */
  readonly unknown: number;
  /** New and not answered yet. */
  readonly pending: number;
  /** Other nodes that answer, and to which nothing fails. */
  readonly reached: number;
  /** Of probed paths: each VNI or datagram size and node is one. Those without an answer yet are unknown. */
  readonly paths: Readonly<Record<"ok" | "failing" | "unknown", number>>;
  /** The VNIs of which every probed path fails, as ranges. */
  readonly deadVnis: string;
  /** Nodes with paths that have not been observed for a minute, although their agents are alive. */
  readonly unobserved: readonly string[];
}

/** The largest inner packet of a datagram that passes: its payload less the inner Ethernet header and the VXLAN header. */
const INNER = 22;

/** One entry for each node and reason, with all its VNIs: a dead node must not fill the status. */
export function overlayReport(found: ProbeReport): OverlayReport {
  const { pairs, l3, lacking, loss, largest, unobserved } = found;
  const failing: FailingPath[] = [];
  for (const [node, vnis] of lacking) failing.push(...lackingHere(node, vnis, l3));
  const nodes = [...new Set(pairs.map(({ node }) => node))].sort();
  for (const node of nodes) {
    const own = pairs.filter((pair) => pair.node === node);
    const known = new Set(failing.flatMap((path) => (path.node === node ? [path.reason] : [])));
    failing.push(...failingPaths(node, own, largest.get(node), l3).filter(({ reason }) => !known.has(reason)));
  }
  for (const [node, percent] of loss) {
    // A path that fails entirely has its own entry.
    if (failing.some((path) => path.node === node && path.vnis === undefined)) continue;
    failing.push({ node, reason: "Loss", message: `${percent} % loss on the underlay to ${node}` });
  }
  const count = (state: string) => pairs.filter(({ verdict }) => verdict.state === state).length;
  const failed = new Set(failing.map(({ node }) => node));
  const answered = new Set(pairs.flatMap(({ node, verdict }) => (verdict.state === "ok" && !failed.has(node) ? [node] : [])));
  return {
    probed: pairs.length,
    failing,
    unknown: count("unknown"),
    pending: count("pending"),
    reached: answered.size,
    paths: countPaths(found),
    deadVnis: printRanges(deadVnis(found)),
    unobserved,
  };
}

function countPaths({ pairs, lacking, loss }: ProbeReport): OverlayReport["paths"] {
  const known = new Set(pairs.map(({ node, where }) => `${node} ${where}`));
  const others = [...lacking].flatMap(([node, vnis]) => vnis.filter((vni) => !known.has(`${node} ${vni}`)));
  const lossy = new Set(pairs.filter(({ node, where }) => where === "udp" && loss.has(node)));
  const isBad = (pair: ProbedPair) => pair.verdict.state === "failing" || isLacking(pair, lacking) || lossy.has(pair);
  const [bad, rest] = [pairs.filter(isBad), pairs.filter((pair) => !isBad(pair))];
  const ok = rest.filter(({ verdict }) => verdict.state === "ok").length;
  return { ok, failing: bad.length + others.length, unknown: rest.length - ok };
}

function isGone({ verdict }: ProbedPair): boolean {
  return verdict.state === "failing" && (verdict.why === "noPath" || verdict.why === "noAnswer");
}

function isLacking({ node, where }: ProbedPair, lacking: ProbeReport["lacking"]): boolean {
  return typeof where === "number" && (lacking.get(node)?.includes(where) ?? false);
}

/** Nodes that are gone make no VNI fail: there is nothing to reach. */
function deadVnis({ pairs, lacking }: ProbeReport): number[] {
  const dead = [...Map.groupBy(pairs, ({ where }) => where)].flatMap(([where, probed]) => {
    const there = probed.filter((pair) => !isGone(pair) || isLacking(pair, lacking));
    const isDead = there.length > 0 && there.every((pair) => pair.verdict.state === "failing" || isLacking(pair, lacking));
    return typeof where === "number" && isDead ? [where] : [];
  });
  return dead.toSorted((a, b) => a - b);
}

function failingPaths(
  node: string,
  pairs: readonly ProbedPair[],
  size: { required: number; passes: number | undefined } | undefined,
  l3: ReadonlySet<number>,
): FailingPath[] {
  const bad = pairs.filter(({ verdict }) => verdict.state === "failing");
  const why = (reason: string) => bad.filter(({ verdict }) => verdict.state === "failing" && verdict.why === reason);
  if (why("noPath").length > 0)
    return [{ node, reason: "NoPath", message: `No answer from ${node} on the underlay, not even to pings`, ...sinceOf(bad) }];
  if (why("noAnswer").length > 0)
    return [
      {
        node,
        reason: "NoAnswer",
        message: `${node} answers pings, but no probe, although its agent is alive: UDP may be filtered on the way`,
        ...sinceOf(bad),
      },
    ];
  const vnis = vnisOf(why("answersElsewhere"));
  const paths = lackingThere(node, vnisOf(why("lacksRoute")), l3).map((path) => Object.assign(path, sinceOf(why("lacksRoute"))));
  if (vnis.length > 0) {
    const text = printRanges(vnis);
    const all = pairs.filter(({ where }) => typeof where === "number").length === vnis.length;
    const scope = all && vnis.length > 1 ? "no VNI carries frames" : `VNI ${text}: frames do not arrive`;
    const message = `${scope} to and from ${node}; the underlay carries small packets`;
    const frames = why("answersElsewhere").filter(({ where }) => typeof where === "number");
    paths.push({ node, reason: "NoAnswerInVNI", vnis: text, message, ...sinceOf(frames) });
  }
  const tooLarge = bad.filter(({ where, size: sent }) => where === "udp" && sent === size?.required);
  if (tooLarge.length > 0 && size) {
    const passes = size.passes === undefined ? "only small packets pass" : `${size.passes - INNER} bytes pass`;
    paths.push({
      node,
      reason: "TooLarge",
      message: `Packets of ${size.required - INNER} bytes do not pass to ${node}, ${passes}: the MTU of the underlay is too small`,
      ...sinceOf(tooLarge),
    });
  }
  return paths;
}

function sinceOf(pairs: readonly ProbedPair[]): { since?: number } {
  const times = pairs.flatMap(({ verdict }) => ("since" in verdict ? [verdict.since] : []));
  return times.length === 0 ? {} : { since: Math.min(...times) };
}

function vnisOf(pairs: readonly ProbedPair[]): number[] {
  return pairs.flatMap(({ where }) => (typeof where === "number" ? [where] : [])).sort((a, b) => a - b);
}

function lackingHere(node: string, vnis: readonly number[], l3: ReadonlySet<number>): FailingPath[] {
  return unrouted(node, vnis, l3, {
    NoEVPNRoute: `FRR has no VTEP of ${node}, its EVPN routes do not arrive`,
    NoRouterMAC: `FRR has no router MAC of ${node}, although it announces prefixes: packets of the VRF do not find it`,
  });
}

function lackingThere(node: string, vnis: readonly number[], l3: ReadonlySet<number>): FailingPath[] {
  return unrouted(node, vnis, l3, {
    NoEVPNRoute: `${node} has no VTEP of this node, EVPN routes of this node do not arrive there`,
    NoRouterMAC: `${node} has no router MAC of this node: packets of the VRF do not find the way here`,
  });
}

function unrouted(
  node: string,
  unsorted: readonly number[],
  l3: ReadonlySet<number>,
  texts: Readonly<Record<"NoEVPNRoute" | "NoRouterMAC", string>>,
): FailingPath[] {
  return (["NoEVPNRoute", "NoRouterMAC"] as const).flatMap((reason) => {
    const vnis = printRanges(unsorted.filter((vni) => l3.has(vni) === (reason === "NoRouterMAC")).toSorted((a, b) => a - b));
    return vnis === "" ? [] : [{ node, reason, vnis, message: `VNI ${vnis}: ${texts[reason]}` }];
  });
}

export function overlayReachable(report: OverlayReport | undefined): ConditionReport {
  const type = "OverlayReachable";
  if (!report) return { type, status: "Unknown", reason: "NotObserved", message: "Waiting for the first probes" };
  const { probed, failing, unknown, pending } = report;
  if (probed === 0) return { type, status: "True", reason: "NoPeers", message: "No other node has a VNI of this node" };
  if (failing.length > 0) {
    const more = failing.length > 3 ? `; and ${failing.length - 3} more` : "";
    return {
      type,
      status: "False",
      reason: "PathsFailing",
      message:
        failing
          .slice(0, 3)
          .map(({ message }) => message)
          .join("; ") + more,
    };
  }
  if (pending === probed) return { type, status: "Unknown", reason: "NotObserved", message: "Waiting for the first answers" };
  if (unknown > 0)
    return { type, status: "Unknown", reason: "NotObserved", message: `Not all of the ${probed} paths were observed lately` };
  return { type, status: "True", reason: "AllAnswered", message: `${probed} paths probed, none fails` };
}
