import { createHash } from "node:crypto";
import type { ConfigLine, Fragment } from "../../../frr/fragment.ts";
import { isWellKnownCommunity, setLines, type Attributes } from "./attributes.ts";

/** A peer that hears a prefix, by its out-map, and what it hears with it. */
export interface ReceivingPeer {
  readonly outMap: string;
  readonly attributes: Attributes;
}

/** Prefixes that the same peers hear with the same attributes. */
export interface PrefixClass {
  readonly owner: string;
  /** The route map by which a prefix joins. */
  readonly map: string;
  readonly tag: number;
  readonly fragment: Fragment;
}

/** A tag is also the place of its clause in the out-maps, of which FRR has 65 535 and the last is for denying. */
const TAGS = 65_000;
const SET_TAG = "set tag ";

/**
 * Gives each class its name and its tag. Both follow from what the class is, so that also a speaker that remembers nothing finds in FRR what it would say itself;
 * where two want the same tag, it is whose it was.
 */
export class PrefixClasses {
  readonly #tagOfClass = new Map<string, number>();
  readonly #tagOfAudience = new Map<string, number>();
  readonly #taken = new Set<number>();

  /** The tags that are in use by now. */
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

  /** One for all classes that have the same audience: the out-maps are as they are when one more comes. */
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

/** Whether the attributes can be set once, where the prefix enters: they are the same for all peers, and FRR itself does not obey them. */
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
