import type { CustomKind } from "./define-kind.ts";
import { IPAddressPool } from "./metallb/ip-address-pool.ts";
import { L2VNI } from "./openpe/l2vni.ts";
import { L3Passthrough } from "./openpe/l3passthrough.ts";
import { L3VNI } from "./openpe/l3vni.ts";
import { RawFRRConfig } from "./openpe/raw-frr-config.ts";
import { RouterNodeConfigurationStatus } from "./openpe/router-node-configuration-status.ts";
import { Underlay } from "./openpe/underlay.ts";

/** Every kind that we bring, in the order in which they are installed. */
export const CUSTOM_KINDS: readonly CustomKind[] = [
  Underlay,
  L2VNI,
  L3VNI,
  L3Passthrough,
  RawFRRConfig,
  RouterNodeConfigurationStatus,
  IPAddressPool,
];
