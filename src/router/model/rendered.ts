import type { Fragment } from "../../frr/fragment.ts";
import type { DesiredLink } from "../../hostnet/desired-link.ts";

/** What one resource needs on its node. */
export interface Rendered {
  readonly fragment: Fragment;
  readonly links: readonly DesiredLink[];
}

/** The last live version of a resource on this node; it stays when a newer one fails. */
export interface LastGoodResource {
  readonly uid: string;
  readonly generation: number;
  readonly spec: unknown;
  readonly rendered: Rendered;
}
