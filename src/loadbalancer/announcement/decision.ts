import type { Address } from "../../ip/address.ts";
import type { Prefix } from "../../ip/prefix.ts";
import type { NotAnnounced } from "../reasons.ts";

export interface Advertised {
  readonly prefix: Prefix;
  readonly advertisement: string;
  /** The age of the advertisement, in milliseconds. */
  readonly created: number;
  readonly localPref?: number;
  readonly communities: readonly string[];
  /** undefined: to all. */
  readonly peers?: ReadonlySet<string>;
}

export type BgpDecision = { readonly announce: readonly Advertised[] } | { readonly not: NotAnnounced };

/** The node that announces the addresses of a Service over L2. */
export interface Elected {
  readonly node: string;
  readonly addresses: readonly Address[];
  /** Of that node; undefined: all. */
  readonly interfaces?: readonly string[];
  /** In the order in which they would take over; the first is `node`. */
  readonly candidates: readonly string[];
}
