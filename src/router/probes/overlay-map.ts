import { isIP } from "node:net";
import { isObject } from "../../api/admission/value.ts";
import type { ConfigMap } from "../../api/core/config-map.ts";
import { membersName } from "../../kube/members/members.ts";
import { compare } from "../../util/compare.ts";

/** Which nodes have which VNIs applied, and where their VTEPs are. The controller publishes it beside the members, in the object that all agents watch. */
export interface OverlayMap {
  readonly nodes: ReadonlyMap<string, OverlayNode>;
}

export interface OverlayNode {
  /** The node index, from which the node's probe MAC is made. */
  readonly index: number;
  readonly vtep: string;
  readonly l2: readonly number[];
  readonly l3: readonly number[];
}

/** More than the router supports on one node; an object with more is not ours. */
const MOST_VNIS = 10_000;
const MOST_NODES = 10_000;

class OverlayMapError extends Error {
  override readonly name = "OverlayMapError";
  readonly code = "Malformed";

  constructor(problem: string) {
    super(`ConfigMap ${membersName}: data.${problem}; delete this key: the controller writes it again`);
  }
}

/**
 * `overlayNodes` has index and VTEP of each node by name. `overlaySets` has each set of VNIs that some nodes have in common, as ranges, with the indexes of these nodes: most
 * nodes have the same VNIs, so that 500 nodes with 100 VNIs are one set.
 */
export function printOverlayMap({ nodes }: OverlayMap): Record<string, string> {
  const located: Record<string, [number, string]> = {};
  const sets = new Map<string, number[]>();
  for (const [name, { index, vtep, l2, l3 }] of [...nodes].sort(([a], [b]) => (a < b ? -1 : 1))) {
    located[name] = [index, vtep];
    const key = `${printRanges(l2)} ${printRanges(l3)}`;
    sets.set(key, [...(sets.get(key) ?? []), index]);
  }
  const printed = [...sets].map(([key, indexes]) => key.split(" ").concat(printRanges(indexes.sort((a, b) => a - b))));
  return { overlayNodes: JSON.stringify(located), overlaySets: JSON.stringify(printed.sort((a, b) => compare(a.join(), b.join()))) };
}

export function parseOverlayMap({ data = {} }: ConfigMap): OverlayMap {
  // A controller of an earlier version publishes none.
  if (data["overlayNodes"] === undefined) return { nodes: new Map() };
  const entries = entriesOf(json(data, "overlayNodes"));
  const sets = json(data, "overlaySets");
  if (entries.length > MOST_NODES) throw new OverlayMapError(`overlayNodes has ${entries.length} nodes, at most ${MOST_NODES} are allowed`);
  if (!Array.isArray(sets)) throw new OverlayMapError("overlaySets is not a list");
  const byIndex = new Map<number, Pick<OverlayNode, "l2" | "l3">>();
  const known = new Set<number>();
  for (const set of sets as unknown[]) {
    if (!Array.isArray(set) || set.length !== 3 || !set.every((part) => typeof part === "string"))
      throw new OverlayMapError("overlaySets has an entry that is not three ranges");
    const [l2, l3, indexes] = set.map((text) => parseRanges(text));
    for (const vni of [...(l2 ?? []), ...(l3 ?? [])]) known.add(vni);
    if (known.size > MOST_VNIS) throw new OverlayMapError(`overlaySets has more than ${MOST_VNIS} VNIs`);
    for (const index of indexes ?? []) byIndex.set(index, { l2: l2 ?? [], l3: l3 ?? [] });
  }
  return {
    nodes: new Map(entries.map(([name, { index, vtep }]) => [name, { index, vtep, ...(byIndex.get(index) ?? { l2: [], l3: [] }) }])),
  };
}

function entriesOf(value: unknown): [string, { index: number; vtep: string }][] {
  if (!isObject(value)) throw new OverlayMapError("overlayNodes is not an object");
  return Object.entries(value).map(([name, entry]) => {
    const [index, vtep] = Array.isArray(entry) ? (entry as unknown[]) : [];
    if (!Number.isSafeInteger(index) || Number(index) < 0 || Number(index) >= 2 ** 24 || typeof vtep !== "string" || !isAddress(vtep))
      throw new OverlayMapError(`overlayNodes has no index and VTEP for ${name.slice(0, 253)}`);
    return [name, { index: Number(index), vtep }];
  });
}

/** Of a zone the address would belong to a link of the node that published it. */
function isAddress(text: string): boolean {
  return isIP(text) > 0 && !text.includes("%");
}

function json(data: Readonly<Record<string, string>>, field: string): unknown {
  try {
    return JSON.parse(data[field] ?? "") as unknown;
  } catch {
    throw new OverlayMapError(`${field} is not JSON`);
  }
}

/** `1-3,7` of sorted numbers. */
export function printRanges(numbers: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const number of numbers) {
    const last = ranges.at(-1);
    if (last?.[1] === number - 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([from, to]) => (from === to ? String(from) : `${from}-${to}`)).join(",");
}

function parseRanges(text: string): number[] {
  if (text === "") return [];
  const numbers: number[] = [];
  for (const range of text.split(",")) {
    const [, from, to = from] = /^(\d{1,8})(?:-(\d{1,8}))?$/.exec(range) ?? [];
    if (from === undefined || Number(to) < Number(from))
      throw new OverlayMapError(`overlaySets has the range ${JSON.stringify(range.slice(0, 40))}`);
    if (numbers.length + Number(to) - Number(from) >= MOST_VNIS)
      throw new OverlayMapError(`overlaySets has a range of more than ${MOST_VNIS} numbers`);
    for (let number = Number(from); number <= Number(to); number++) numbers.push(number);
  }
  return numbers;
}
