import type { L2VNISpec, L3VNISpec, PassthroughSpec, RouterObject, UnderlaySpec } from "./specs.ts";
import type { RawFRRConfig } from "../../api/openpe/raw-frr-config.ts";
import type { Failure } from "../../resilience/failure.ts";
import type { LastGoodResource } from "./rendered.ts";

/** Everything that the plan for one node depends on. */
export interface ObservedNode {
  readonly node: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
  };
  /** The annotation openpe.io/nodeindex; undefined while the controller has not given one. */
  readonly index: number | undefined;
  /** All of the router's namespace, whether or not they select this node. */
  readonly objects: RouterObjects;
  /** The passwords of the Secrets that neighbors reference, by the name of the Secret. */
  readonly passwords: ReadonlyMap<string, Password>;
  readonly interfaces: Readonly<Record<"host" | "router", readonly ObservedInterface[]>>;
  /** The addresses that the interfaces of Underlays had when they last had any, by name. */
  readonly nics?: ReadonlyMap<string, readonly string[]>;
  /** Interfaces that the node itself lives on, and why: `carries the Node address 192.0.2.1`. Masters and their ports included. */
  readonly guarded: ReadonlyMap<string, string>;
  /** Whether Open vSwitch answers on this node. */
  readonly ovs: boolean;
  /** By owner, `L2VNI/red`. */
  readonly lastGood: ReadonlyMap<string, LastGoodResource>;
  /** What has been rejected as it is written now, by owner. */
  readonly rejections?: RejectedResources;
  /** When an object that existed before began to select this node, where the agent saw it happen; by owner. */
  readonly newlySelectedAt: ReadonlyMap<string, Date>;
  readonly now: Date;
}

export interface RouterObjects {
  readonly underlays: readonly RouterObject<UnderlaySpec>[];
  readonly l2vnis: readonly RouterObject<L2VNISpec>[];
  readonly l3vnis: readonly RouterObject<L3VNISpec>[];
  readonly passthroughs: readonly RouterObject<PassthroughSpec>[];
  readonly rawConfigs: readonly RawFRRConfig[];
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

/** A version of a resource that the kernel or FRR rejected. */
export interface RejectedResource {
  readonly uid: string;
  readonly generation: number;
  readonly failure: Failure;
  /** When it was rejected. */
  readonly at: string;
  /** How often trying it has changed what others have, or would have. */
  readonly times: number;
}

/** By owner. Of resources of which nothing is live, and of those that were to be changed together with others. */
export type RejectedResources = ReadonlyMap<string, RejectedResource>;
