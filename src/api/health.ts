import type { Kind, KubeObject } from "./kind.ts";

/**
 * Something with a health: an object, an object on one node, or a part that only statuses mention (an agent, a session, a link).
 * Several sources may report on one component; the worst report counts.
 */
export interface Component {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  /** The component on this node. */
  readonly node?: string;
}

/** From good to bad. Unknown: no running agent or controller reports it. */
export const HEALTHS = ["Healthy", "Degraded", "Unknown", "Down"] as const;
export type Health = (typeof HEALTHS)[number];

export type Domain = "router" | "loadbalancer" | "failover" | "connectivity" | "cluster";

export interface Dependency {
  readonly component: Component;
  /**
   * Default: the component is at least as bad as its dependency. `part`: a failed dependency makes it Degraded at worst. `alternative`: it is Degraded
   * while one of its alternatives is healthy, otherwise as bad as the best of them.
   */
  readonly as?: "part" | "alternative";
}

export interface Fix {
  /** A sentence without a full stop: `give it a VNI that no other resource has`. */
  readonly text: string;
  /** The object, and the field of it, to change: `spec.vni`. */
  readonly change?: { readonly component: Component; readonly field?: string };
  /** A command that shows more. */
  readonly command?: string;
}

export interface HealthStatement {
  readonly component: Component;
  readonly domain: Domain;
  /** Its own health, without its dependencies. */
  readonly health: Health;
  /** CamelCase, as in conditions. */
  readonly reason?: string;
  readonly message?: string;
  readonly since?: string;
  /** It is a cause itself, whatever its dependencies: an invalid spec, a full pool. */
  readonly ownFault?: boolean;
  readonly dependencies?: readonly Dependency[];
  readonly fix?: Fix;
}

/** Finds the objects of a kind by a value computed from them. */
export interface Index<T extends KubeObject = KubeObject> {
  readonly kind: Kind<T>;
  readonly of: (object: T) => readonly string[];
}

/** Reads objects and tracks the reads: when a read object changes, the explainer runs again. */
export interface ObjectReader {
  get<T extends KubeObject>(kind: Kind<T>, key: string): T | undefined;
  by<T extends KubeObject>(index: Index<T>, value: string): readonly T[];
  all<T extends KubeObject>(kind: Kind<T>): readonly T[];
}

/** Derives health statements from an object of one kind. A pure function of the object and of what it reads. */
export interface Explainer<T extends KubeObject = KubeObject> {
  readonly kind: Kind<T>;
  readonly explain: (object: T, reader: ObjectReader) => Iterable<HealthStatement>;
}

/** Erases the object type, so that explainers of all kinds fit one list. */
export function explainer<T extends KubeObject>(
  kind: Kind<T>,
  explain: (object: T, reader: ObjectReader) => Iterable<HealthStatement>,
): Explainer {
  return { kind, explain: explain as Explainer["explain"] };
}

/** The id of a component, as `why` takes it: `Service/shop/web`, `L3VNI/openperouter-system/red@node1`. */
export function componentId({ kind, namespace, name, node }: Component): string {
  return `${kind}/${namespace === undefined ? "" : `${namespace}/`}${name}${node === undefined ? "" : `@${node}`}`;
}

export function worseHealth(one: Health, other: Health): Health {
  return HEALTHS.indexOf(one) >= HEALTHS.indexOf(other) ? one : other;
}

/** The node that a component is on, or is. */
export function nodeOf({ kind, name, node }: Component): string | undefined {
  return node ?? (kind === "Node" || kind === "Agent" ? name : undefined);
}
