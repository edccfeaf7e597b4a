import type { Probe } from "../../api/connectivity/probe.ts";

export interface MeshSource {
  readonly kind: "pod" | "node";
  readonly name: string;
  readonly node: string;
}

export interface CheckTarget {
  /** Stays the same when its address changes. */
  readonly identity: string;
  /** Part of the check's name. */
  readonly readable: string;
  readonly endpoint: string;
  /** `service/shop/web`, `external/shop/web`, `endpoint/shop/web`, `node/n2`, `host`. */
  readonly what: string;
  readonly node?: string;
  readonly pod?: string;
  /** Unset: a TCP connection. */
  readonly probe?: Probe;
  /** Nodes that check it only if there are too few others. */
  readonly avoid?: readonly string[];
  /** An existing check of it continues, since this may be an outage; a new one is created when the target has been ready. */
  readonly isFailing?: boolean;
}

export interface DesiredCheck {
  readonly name: string;
  readonly source: MeshSource;
  readonly target: CheckTarget;
}
