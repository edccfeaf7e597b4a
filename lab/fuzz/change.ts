import type { NodeName } from "../net/topology.ts";
import type { ObjectKind, PossibleChange } from "./kernel-changes.ts";
import type { Scope } from "./state.ts";

/** One change of one object. */
export interface Change extends PossibleChange {
  readonly node: NodeName;
  readonly scope: Scope;
}

/** `node2 router: ip link set vni110 down` */
export function changeText({ node, scope, make }: Pick<Change, "node" | "scope" | "make">): string {
  return `${node} ${scope}: ${make.replaceAll(/\s+/g, " ")}`;
}

/** The same numbers from 0 to 1 for the same seed. */
export function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Each kind is as likely as any other, however many objects there are of it; the order in which they were read does not matter. */
export function chooseChange(changes: readonly Change[], random: () => number): Change | undefined {
  const byKind = Map.groupBy(changes, ({ kind }) => kind);
  const kind = pick([...byKind.keys()].sort(), random);
  const sorted = (byKind.get(kind as ObjectKind) ?? []).toSorted((a, b) => (changeText(a) < changeText(b) ? -1 : 1));
  return pick(sorted, random);
}

export function pick<T>(list: readonly T[], random: () => number): T | undefined {
  return list[Math.floor(random() * list.length)];
}
