import { createHash } from "node:crypto";
import type { ConfigLine, Fragment } from "../../../frr/fragment.ts";
import { isWellKnownCommunity, setLines, type Attributes } from "./attributes.ts";

/** A peer that receives a prefix, by its out-map, with the attributes. */
export interface ReceivingPeer {
  readonly outMap: string;
  readonly attributes: Attributes;
}

/** Prefixes that go to the same peers with the same attributes. */
export interface PrefixClass {
  readonly owner: string;
  /** The route map that sets its tag. */
  readonly map: string;
  readonly tag: number;
  readonly fragment: Fragment;
}

/** A tag is also the sequence number in the out-maps: FRR has 65 535, and the last one denies. */
const TAGS = 65_000;
const SET_TAG = "set tag ";

/**
 * Assigns each class a name and a tag. Both follow from its content, so that a speaker without state computes what FRR already has; if two
 * classes want the same tag, the current owner keeps it.
 */
export class PrefixClasses {
  readonly #tagOfClass = new Map<string, number>();
  readonly #tagOfAudience = new Map<string, number>();
  readonly #taken = new Set<number>();

  /** `applied`: the tags in use. */
  constructor(applied: Iterable<Fragment>) {
    for (const { owner, lines } of applied) {
      const tag = owner.startsWith("Class/") ? tagAmong(lines) : undefined;
      if (tag === undefined) continue;
      this.#tagOfClass.set(owner, tag);
      this.#taken.add(tag);
    }
  }

  of(listeners: readonly ReceivingPeer[]): PrefixClass {
    const atOrigin = canBeSetAtOrigin(listeners);
    const outMaps = listeners
      .map(({ outMap, attributes }) => ({ outMap, sets: setLines(attributes) }))
      .sort((a, b) => (a.outMap < b.outMap ? -1 : 1));
    const sets = atOrigin ? (outMaps[0]?.sets ?? []) : [];
    const audience = JSON.stringify(outMaps.map(({ outMap, sets }) => (atOrigin ? outMap : [outMap, sets])));
    const hash = digest(`${audience} ${JSON.stringify(sets)}`)
      .toString("hex")
      .slice(0, 10);
    const owner = `Class/${hash}`;
    const map = `class-${hash}`;
    const tag = this.#tag(owner, audience);
    const lines = [
      context(`route-map ${map} permit 1`, [`${SET_TAG}${tag}`, ...sets]),
      ...outMaps.map(({ outMap, sets }) => context(`route-map ${outMap} permit ${tag}`, [`match tag ${tag}`, ...(atOrigin ? [] : sets)])),
    ];
    return { owner, map, tag, fragment: { owner, lines } };
  }

  /** Shared by classes with the same peers: out-maps need no change for one more class. */
  #tag(owner: string, audience: string): number {
    let tag = this.#tagOfClass.get(owner) ?? this.#tagOfAudience.get(audience);
    if (tag === undefined) {
      tag = 1 + (digest(audience).readUInt32BE() % TAGS);
      while (this.#taken.has(tag)) tag = 1 + (tag % TAGS);
    }
    this.#tagOfClass.set(owner, tag);
    this.#tagOfAudience.set(audience, tag);
    this.#taken.add(tag);
    return tag;
  }
}

/** Whether the attributes can be set at the network statement: they are the same for all peers, and FRR itself does not act on them. */
function canBeSetAtOrigin(listeners: readonly ReceivingPeer[]): boolean {
  const [first, ...others] = listeners.map(({ attributes }) => attributes);
  if (!first || first.communities.some(isWellKnownCommunity)) return false;
  return others.every(
    ({ localPref, communities }) =>
      localPref === first.localPref &&
      communities.length === first.communities.length &&
      communities.every((community) => first.communities.includes(community)),
  );
}

function tagAmong(lines: readonly ConfigLine[]): number | undefined {
  for (const { inside = [] } of lines) {
    for (const { line } of inside) {
      if (line.startsWith(SET_TAG)) return Number(line.slice(SET_TAG.length));
    }
  }
  return undefined;
}

function context(line: string, inside: readonly string[]): ConfigLine {
  return { line, inside: inside.map((line) => ({ line })) };
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
