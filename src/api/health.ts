import type { Kind, KubeObject } from "./kind.ts";

/**
 * What can work or not: an object, an object as it is on one node, or a part that only statuses speak of (an agent, a session, a link).
 * The same thing may be spoken of from several sides; the worst word counts.
 */
export interface Thing {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  /** As it is on this node. */
  readonly node?: string;
}

/** From good to bad. Unknown: nobody alive can tell. */
export const HEALTHS = ["Healthy", "Degraded", "Unknown", "Down"] as const;
export type Health = (typeof HEALTHS)[number];

export type Domain = "router" | "loadbalancer" | "failover" | "connectivity" | "cluster";

export interface Need {
  readonly thing: Thing;
  /**
   * Without it the thing cannot be better than what it needs. `part`: it then lacks something and is Degraded at worst. `alternative`: it is Degraded
   * while one of its alternatives works as it should, and as bad as the best of them otherwise.
   */
  readonly as?: "part" | "alternative";
}

/** What a person should do about a cause. */
export interface Remedy {
  /** A sentence without a full stop: `give it a VNI that no other resource has`. */
  readonly text: string;
  /** What to change, where that is an object: `spec.vni` of it. */
  readonly change?: { readonly thing: Thing; readonly field?: string };
  /** What to run to look closer. */
  readonly command?: string;
}

/** What one object says of one thing. */
export interface Standing {
  readonly thing: Thing;
  readonly domain: Domain;
  /** Of itself, before what it needs is looked at. */
  readonly health: Health;
  /** CamelCase, as in conditions. */
  readonly reason?: string;
  /** For people: what is wrong, or nothing. */
  readonly message?: string;
  readonly since?: string;
  /** It is to blame itself, however what it needs may be: a refused spec, a full pool. */
  readonly ownFault?: boolean;
  readonly needs?: readonly Need[];
  readonly remedy?: Remedy;
}

/** Finds the objects of a kind by a value they yield. */
export interface Index<T extends KubeObject = KubeObject> {
  readonly kind: Kind<T>;
  readonly of: (object: T) => readonly string[];
}

/** The objects that can be looked at. What was looked at is remembered: when it changes, so does what was said. */
export interface Sight {
  get<T extends KubeObject>(kind: Kind<T>, key: string): T | undefined;
  by<T extends KubeObject>(index: Index<T>, value: string): readonly T[];
  all<T extends KubeObject>(kind: Kind<T>): readonly T[];
}

/** What an object of one kind says of itself, and of what stands in its status. A pure function of the object and of what it looks at. */
export interface Explainer<T extends KubeObject = KubeObject> {
  readonly kind: Kind<T>;
  readonly explain: (object: T, sight: Sight) => Iterable<Standing>;
}

/** Keeps the type of the object within, and forgets it outside. */
export function explainer<T extends KubeObject>(kind: Kind<T>, explain: (object: T, sight: Sight) => Iterable<Standing>): Explainer {
  return { kind, explain: explain as Explainer["explain"] };
}

/** One word for a thing, as `why` takes and prints it: `Service/shop/web`, `L3VNI/openperouter-system/red@node1`. */
export function idOf({ kind, namespace, name, node }: Thing): string {
  return `${kind}/${namespace === undefined ? "" : `${namespace}/`}${name}${node === undefined ? "" : `@${node}`}`;
}

export function worse(one: Health, other: Health): Health {
  return HEALTHS.indexOf(one) >= HEALTHS.indexOf(other) ? one : other;
}

/** The node that a thing is on, or is. */
export function nodeOf({ kind, name, node }: Thing): string | undefined {
  return node ?? (kind === "Node" || kind === "Agent" ? name : undefined);
}
