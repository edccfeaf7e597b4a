import type { CustomKind } from "./define-kind.ts";
import { IPAddressPool } from "./metallb/ip-address-pool.ts";
import { L3VNI } from "./openpe/l3vni.ts";
import { RouterNodeConfigurationStatus } from "./openpe/router-node-configuration-status.ts";

/** Every kind that we bring, in the order in which they are installed. */
export const CUSTOM_KINDS: readonly CustomKind[] = [L3VNI, RouterNodeConfigurationStatus, IPAddressPool];
