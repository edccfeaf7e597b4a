import { ConfigSet } from "./config-set.ts";
import { entriesOf, type ConfigEntry } from "./entry.ts";
import type { ConfigLine } from "./fragment.ts";
import { addRank, isBuiltInLine, isPolicy, negate, vrfOfInstance, type Path } from "./grammar.ts";

export interface LineChange {
  readonly daemon: string;
  readonly context: Path;
  readonly line: string;
  readonly do: "add" | "remove";
  /** The line itself, or its negation. */
  readonly send: string;
  readonly entry: ConfigEntry;
  /** Other lines that FRR removes with it. */
  readonly drops: readonly ConfigEntry[];
  /** Until bgpd knows that the VNI is gone it keeps the VRF's instance and rejects the line. */
  readonly awaitsVniGone: boolean;
}

export interface DesiredChange {
  readonly remove: Iterable<ConfigEntry>;
  readonly add: Iterable<ConfigEntry>;
  /** Whether a line must exist in the end, even if it is removed with another one on the way. */
  readonly wanted: (entry: ConfigEntry) => boolean;
}

const one = () => ["frr"];

export function diff(have: readonly ConfigLine[], want: readonly ConfigLine[]): LineChange[] {
  const there = new ConfigSet(entriesOf(have, one));
  const wanted = new ConfigSet(entriesOf(want, one));
  return changes(there, {
    remove: [...there].filter((entry) => !wanted.has(entry) && !isBuiltInLine(entry.path, entry.line)),
    add: wanted,
    wanted: (entry) => wanted.has(entry),
  });
}

/** The lines to send, in an order that FRR accepts. */
export function changes(have: ConfigSet, change: DesiredChange): LineChange[] {
  const coming = new Map<string, ConfigEntry>();
  for (const entry of change.add) if (!have.has(entry)) coming.set(entry.key, entry);
  const going = new Map<string, ConfigEntry>();
  for (const entry of change.remove) if (have.has(entry)) going.set(entry.key, entry);

  const replacedBy = new Map<string, ConfigEntry[]>();
  const displaced = new Set<string>();
  for (const entry of coming.values()) {
    for (const { rival, slot } of have.rivalsOf(entry)) {
      if (slot.replaces) {
        going.delete(rival.key);
        replacedBy.set(entry.key, [...(replacedBy.get(entry.key) ?? []), rival]);
      } else {
        going.set(rival.key, rival);
        displaced.add(rival.key);
        if (rival.context) for (const { key } of have.goesWith(rival)) displaced.add(key);
      }
    }
  }
  restartOtherVnis(have, coming, going);
  const awaiting = withoutVnis(have, coming, going);

  const drops = new Map<string, ConfigEntry[]>();
  for (const entry of going.values()) {
    const dropped = have.goesWith(entry);
    drops.set(entry.key, dropped);
    for (const { key } of dropped) going.delete(key);
  }
  // Another owner may still want the value that is replaced here.
  for (const { key } of [...replacedBy.values()].flat()) displaced.add(key);
  for (const entry of [...going.values(), ...[...going.keys()].flatMap((key) => drops.get(key) ?? [])]) {
    if (change.wanted(entry) && !displaced.has(entry.key)) coming.set(entry.key, entry);
  }

  const remove = (entry: ConfigEntry): LineChange => ({
    ...common(entry),
    do: "remove",
    send: negate(entry.path, entry.line),
    drops: drops.get(entry.key) ?? [],
    awaitsVniGone: awaiting.has(entry.key),
  });
  const add = (entry: ConfigEntry): LineChange => ({
    ...common(entry),
    do: "add",
    send: entry.line,
    drops: replacedBy.get(entry.key) ?? [],
    awaitsVniGone: awaiting.has(entry.key),
  });
  const removals = inOrder([...going.values()]).reverse();
  const late = (entry: ConfigEntry) => isPolicy(entry.path, entry.line) && !displaced.has(entry.key);
  return [
    ...removals.filter((entry) => !late(entry)).map(remove),
    ...inOrder([...coming.values()]).map(add),
    ...removals.filter(late).map(remove),
  ];
}

/**
 * The instance of a VRF that gets another VNI is removed and added again. Otherwise FRR loses track of the router MACs of other nodes, and packets of the VRF have no next
 * hop: in 10 after one edit, in 8.4 after the VNI was edited back.
 */
function restartOtherVnis(have: ConfigSet, coming: ReadonlyMap<string, ConfigEntry>, going: Map<string, ConfigEntry>): void {
  for (const { path, line } of coming.values()) {
    const [, vrf] = /^vrf (\S+)$/.exec(path[0] ?? "") ?? [];
    if (vrf === undefined || !line.startsWith("vni ") || have.holdersOf(`vrf ${vrf} vni`).length === 0) continue;
    for (const instance of have.holdersOf(`router bgp vrf ${vrf}`)) going.set(instance.key, instance);
  }
}

/**
 * A VRF's instance can be neither removed nor given another AS number while its VNI exists: bgpd then has an instance for it. The VNI is
 * removed first, and added again if it is still wanted. Returns the instances that must wait for that.
 */
function withoutVnis(have: ConfigSet, coming: ReadonlyMap<string, ConfigEntry>, going: Map<string, ConfigEntry>): Set<string> {
  const awaiting = new Set<string>();
  for (const entry of [...coming.values(), ...going.values()]) {
    const vrf = vrfOfInstance(entry.path, entry.line);
    if (!vrf) continue;
    for (const vni of have.holdersOf(`vrf ${vrf} vni`)) {
      going.set(vni.key, vni);
      awaiting.add(entry.key);
    }
  }
  return awaiting;
}

function common(entry: ConfigEntry): Pick<LineChange, "daemon" | "context" | "line" | "entry"> {
  return { daemon: entry.daemon, context: entry.path, line: entry.line, entry };
}

/** By rank, level by level, so that the lines of one context stay together. */
function inOrder(entries: readonly ConfigEntry[], depth = 0): ConfigEntry[] {
  const groups = new Map<string, ConfigEntry[]>();
  for (const entry of entries) {
    const name = `${entry.daemon}\n${entry.path[depth] ?? entry.line}`;
    const group = groups.get(name);
    if (group) group.push(entry);
    else groups.set(name, [entry]);
  }
  const ranked = [...groups.values()].map((group) => {
    const sample = group[0] as ConfigEntry;
    return { group, rank: addRank(sample.path.slice(0, depth), sample.path[depth] ?? sample.line) };
  });
  return ranked
    .sort((a, b) => a.rank - b.rank)
    .flatMap(({ group }) => {
      const own = group.filter(({ path }) => path.length === depth);
      const inner = group.filter(({ path }) => path.length > depth);
      return inner.length ? own.concat(inOrder(inner, depth + 1)) : own;
    });
}
