import type { L2VNISpec, L3VNISpec, PassthroughSpec, RouterObject, UnderlaySpec } from "./specs.ts";
import type { RawFRRConfig } from "../../api/openpe/raw-frr-config.ts";
import type { Failure } from "../../resilience/failure.ts";
import type { LastGoodResource } from "./rendered.ts";

export interface ObservedNode {
  readonly node: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
  };
  /** The annotation openpe.io/nodeindex; undefined until the controller has set it. */
  readonly index: number | undefined;
  /** All of the router's namespace, whether or not they select this node. */
  readonly objects: RouterObjects;
  /** By the name of the Secret. */
  readonly passwords: ReadonlyMap<string, Password>;
  readonly interfaces: Readonly<Record<"host" | "router", readonly ObservedInterface[]>>;
  /** The last known addresses of the Underlays' interfaces, by name. */
  readonly nics?: ReadonlyMap<string, readonly string[]>;
  /** Interfaces that the node itself needs, with the reason: `carries the Node address 192.0.2.1`. Includes masters and ports. */
  readonly guarded: ReadonlyMap<string, string>;
  /** Whether Open vSwitch answers on this node. */
  readonly ovs: boolean;
  /** By owner, `L2VNI/red`. */
  readonly lastGood: ReadonlyMap<string, LastGoodResource>;
  /** Current versions that were rejected, by owner. */
  readonly rejections?: RejectedResources;
  /** When an existing object began to select this node, if the agent observed it; by owner. */
  readonly newlySelectedAt: ReadonlyMap<string, Date>;
  readonly now: Date;
}

export interface RouterObjects {
  readonly underlays: readonly RouterObject<UnderlaySpec>[];
  readonly l2vnis: readonly RouterObject<L2VNISpec>[];
  readonly l3vnis: readonly RouterObject<L3VNISpec>[];
  readonly passthroughs: readonly RouterObject<PassthroughSpec>[];
  readonly rawConfigs: readonly RouterObject<RawFRRConfig["spec"]>[];
}

/** A problem says why there is no password: `Secret tor-password not found`. */
export type Password = { readonly password: string } | { readonly problem: string };

export interface ObservedInterface {
  readonly name: string;
  /** With their lengths, in the order of the kernel: `192.0.2.1/24`. */
  readonly addresses: readonly string[];
  /** As `ip -d link` calls it, `bridge`, `veth`; missing for hardware. */
  readonly kind?: string;
}

export interface RejectedResource {
  readonly uid: string;
  readonly generation: number;
  readonly failure: Failure;
  readonly at: string;
  /** How often retrying has affected others, or would have. */
  readonly times: number;
}

/** By owner. Of resources without a live version, and of those that were to change together with others. */
export type RejectedResources = ReadonlyMap<string, RejectedResource>;
