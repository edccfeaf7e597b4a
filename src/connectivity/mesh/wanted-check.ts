/** Who tries. */
export interface CheckSource {
  readonly kind: "pod" | "node";
  readonly name: string;
  /** Where it runs. */
  readonly node: string;
}

/** What is to be reached. */
export interface CheckTarget {
  /** Stays the same for as long as it is the same target, also when its address changes. */
  readonly identity: string;
  /** What stands in the name of the check. */
  readonly readable: string;
  /** host:port. */
  readonly endpoint: string;
  /** `service/shop/web`, `endpoint/shop/web`, `node/n2`, `host`. */
  readonly what: string;
  /** Where it runs, if on one node. */
  readonly node?: string;
  /** The pod behind it. */
  readonly pod?: string;
}

export interface WantedCheck {
  readonly name: string;
  readonly source: CheckSource;
  readonly target: CheckTarget;
}
