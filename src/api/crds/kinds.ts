import { ConnectivityMesh } from "../connectivity/connectivity-mesh.ts";
import { PodNetworkConnectivityCheck } from "../connectivity/pod-network-connectivity-check.ts";
import type { CustomKind } from "../define-kind.ts";
import { FailoverPolicy } from "../failover/failover-policy.ts";
import { BFDProfile } from "../metallb/bfd-profile.ts";
import { BGPAdvertisement } from "../metallb/bgp-advertisement.ts";
import { BGPPeer } from "../metallb/bgp-peer.ts";
import { BGPSessionStatus } from "../metallb/bgp-session-status.ts";
import { Community } from "../metallb/community.ts";
import { ConfigurationState } from "../metallb/configuration-state.ts";
import { ConfigurationStatus } from "../metallb/configuration-status.ts";
import { IPAddressPool } from "../metallb/ip-address-pool.ts";
import { L2Advertisement } from "../metallb/l2-advertisement.ts";
import { ServiceBGPStatus } from "../metallb/service-bgp-status.ts";
import { ServiceL2Status } from "../metallb/service-l2-status.ts";
import { NetworkL2VNI } from "../network/l2vni.ts";
import { L3VPN, NetworkL3Passthrough, NetworkL3VNI, NetworkL3VPN } from "../network/l3.ts";
import { NetworkUnderlay } from "../network/underlay.ts";
import { L2VNI } from "../openpe/l2vni.ts";
import { L3Passthrough } from "../openpe/l3passthrough.ts";
import { L3VNI } from "../openpe/l3vni.ts";
import { NetworkRawFRRConfig, RawFRRConfig } from "../openpe/raw-frr-config.ts";
import { RouterNodeConfigurationStatus } from "../openpe/router-node-configuration-status.ts";
import { Underlay } from "../openpe/underlay.ts";

export const CUSTOM_KINDS: readonly CustomKind[] = [
  Underlay,
  L2VNI,
  L3VNI,
  L3Passthrough,
  RawFRRConfig,
  RouterNodeConfigurationStatus,
  IPAddressPool,
  BGPPeer,
  BFDProfile,
  BGPAdvertisement,
  L2Advertisement,
  Community,
  ConfigurationState,
  ConfigurationStatus,
  BGPSessionStatus,
  ServiceBGPStatus,
  ServiceL2Status,
  PodNetworkConnectivityCheck,
  ConnectivityMesh,
  FailoverPolicy,
];

/** The router's kinds of the main branch of OpenPERouter, and L3VPN of v0.2: known, and not served. */
export const NETWORK_KINDS: readonly CustomKind[] = [
  NetworkUnderlay,
  NetworkL2VNI,
  NetworkL3VNI,
  NetworkL3Passthrough,
  NetworkL3VPN,
  L3VPN,
  NetworkRawFRRConfig,
];
