import type { LabelSelector } from "../../api/core/label-selector.ts";
import type { Address } from "../../ip/address.ts";
import type { Range } from "../../ip/range.ts";

/** The effective configuration: valid resources that won their claims, each in its current or last good version. */
export interface Config {
  /** By name. */
  readonly pools: ReadonlyMap<string, Pool>;
  /** Sorted by name. For a node, those that select it. */
  readonly peers: ReadonlyMap<string, Peer>;
  readonly bfdProfiles: ReadonlyMap<string, Profile>;
  readonly bgpAds: ReadonlyMap<string, BgpAd>;
  readonly l2Ads: ReadonlyMap<string, L2Ad>;
  readonly extras: string;
}

export interface Pool {
  readonly name: string;
  readonly generation: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly ranges: readonly Range[];
  readonly autoAssign: boolean;
  readonly avoidBuggyIPs: boolean;
  /** Undefined: for all Services. */
  readonly allocation?: {
    /** Lower first; Infinity if unset. */
    readonly priority: number;
    /** Undefined: all namespaces. Names, and those whose labels match. */
    readonly namespaces?: ReadonlySet<string>;
    /** Empty: every Service. */
    readonly serviceSelectors: readonly LabelSelector[];
  };
}

export interface Peer {
  readonly name: string;
  readonly generation: number;
  readonly myAsn: number;
  readonly peerAsn: number | "internal" | "external";
  readonly localAsn?: number;
  /** One of the two is set. */
  readonly address?: Address;
  readonly interface?: string;
  readonly sourceAddress?: Address;
  readonly port?: number;
  /** In whole seconds, both or none. */
  readonly timers?: { readonly keepalive: number; readonly hold: number };
  readonly connectTime?: number;
  readonly routerId?: string;
  readonly nodeSelectors: readonly LabelSelector[];
  readonly password?: string;
  readonly bfdProfile?: string;
  readonly gracefulRestart: boolean;
  readonly ebgpMultiHop: boolean;
  /** "" is the node's main table. */
  readonly vrf: string;
  readonly families: readonly ("IPv4" | "IPv6")[];
}

export interface Profile {
  readonly name: string;
  readonly generation: number;
  readonly receiveInterval?: number;
  readonly transmitInterval?: number;
  readonly detectMultiplier?: number;
  readonly echoInterval?: number;
  readonly echoMode: boolean;
  readonly passiveMode: boolean;
  readonly minimumTtl?: number;
}

interface Ad {
  readonly name: string;
  readonly generation: number;
  /** The names of the pools that it covers. */
  readonly pools: ReadonlySet<string>;
  /** Empty: all. */
  readonly nodeSelectors: readonly LabelSelector[];
  readonly serviceSelectors: readonly LabelSelector[];
}

export interface BgpAd extends Ad {
  /** In milliseconds. Of two that conflict on one prefix the older one stays. */
  readonly created: number;
  readonly aggregationLength: number;
  readonly aggregationLengthV6: number;
  readonly localPref?: number;
  /** `64512:100` or `large:64512:1:2`, aliases resolved, sorted. */
  readonly communities: readonly string[];
  /** undefined: all. */
  readonly peers?: ReadonlySet<string>;
}

export interface L2Ad extends Ad {
  /** undefined: all. */
  readonly interfaces?: readonly string[];
  readonly preferences: readonly { readonly weight: number; readonly selector: LabelSelector }[];
}
