/** Who tries. */
export interface MeshSource {
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
  /** The pod behind it, `namespace/name`. */
  readonly pod?: string;
  /** Not ready: a check that exists goes on, for this may be the outage it is there to see; a new one waits until the target has been ready. */
  readonly isFailing?: boolean;
}

export interface DesiredCheck {
  readonly name: string;
  readonly source: MeshSource;
  readonly target: CheckTarget;
}
