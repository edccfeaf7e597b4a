import type { KubeObject } from "../../api/kind.ts";
import type { L2VNI as ApiL2VNI } from "../../api/openpe/l2vni.ts";
import type { L3Passthrough } from "../../api/openpe/l3passthrough.ts";
import type { L3VNI } from "../../api/openpe/l3vni.ts";
import type { Underlay as ApiUnderlay } from "../../api/openpe/underlay.ts";
import type { RecordedClaim } from "../../resilience/claim.ts";

/** The version of OpenPERouter whose field names and meanings an object uses. */
export type ApiDialect = "v0.1" | "v0.2";

/** How an object was read. */
export interface Reading {
  readonly api: ApiDialect;
  /** Settings that are given twice, or that this version does not support. */
  readonly problems: readonly { readonly field: string; readonly message: string }[];
  /** Fields whose name differs from ours, by our name: `spec.nics` is `spec.interfaces`. */
  readonly writtenAs: ReadonlyMap<string, string>;
}

/** An object in the one form that validation and rendering know. It has the names of v0.1 where v0.1 has the setting. */
export interface RouterObject<Spec> extends KubeObject {
  readonly spec: Spec;
  readonly status?: { readonly claims?: RecordedClaim[] };
  /** Missing: as v0.1, without problems. */
  readonly reading?: Reading;
}

type ApiNeighbor = NonNullable<ApiUnderlay["spec"]["neighbors"]>[number];

export type NeighborSpec = Omit<ApiNeighbor, "holdTimeSeconds" | "keepaliveTimeSeconds" | "connectTimeSeconds" | "properties" | "bfd"> & {
  /** With ebgpMultiHop; missing: 255. */
  multiHopTtl?: number;
  bfd?: Omit<NonNullable<ApiNeighbor["bfd"]>, "minimumTTL">;
};

export type UnderlaySpec = Omit<ApiUnderlay["spec"], "interfaces" | "tunnelEndpoint" | "isis" | "srv6" | "neighbors"> & {
  neighbors?: NeighborSpec[];
};

/** An L2VNI without a VRF is in one of its own name, unless it is disconnected. */
export type L2VNISpec = ApiL2VNI["spec"] & { disconnected?: true };
export type L3VNISpec = L3VNI["spec"];
export type PassthroughSpec = L3Passthrough["spec"];
export type HostSession = PassthroughSpec["hostsession"];
