import { type Tor, TENANT_VRF, type Topology } from "./topology.ts";

// The tenant of the lab's L3VNI blue: each ToR is a VTEP of it, so that a client of the tenant reaches its Services through the EVPN fabric.

const VNI = 200;
const TABLE = 1200;
const BRIDGE = "br-blue";
/** Of Services that are announced in the tenant only: the pool of lab/kube/manifests says so too. */
const SERVICE_NETWORK = "10.202.0.0/24";
/** The clients of the tenant behind all ToRs, and the router's end of blue's HostSession: a node's way back to them. */
export const TENANT_RETURN_ROUTE = { network: "10.22.0.0/16", via: "192.169.10.1" };

/** Lines of `ip` on a ToR. */
export function tenantOnTor({ address }: Tor): string[] {
  return [
    `link add ${TENANT_VRF} up type vrf table ${TABLE}`,
    `link add ${BRIDGE} up master ${TENANT_VRF} type bridge`,
    `link add vni${VNI} up master ${BRIDGE} type vxlan id ${VNI} local ${address} dstport 4789 nolearning`,
  ];
}

/** Lines of `ip` on the client. */
export function tenantOnClient({ tors }: Topology): string[] {
  return [`route add ${SERVICE_NETWORK} ${tors.map(({ tenantGateway }) => `nexthop via ${tenantGateway}`).join(" ")}`];
}

/** Of a ToR's FRR. */
export function tenantConfig({ asn, address, tenantGateway }: Tor): string[] {
  return [
    `router bgp ${asn} vrf ${TENANT_VRF}`,
    ` bgp router-id ${address}`,
    " address-family ipv4 unicast",
    "  maximum-paths 8",
    `  network ${tenantGateway.replace(/\d+$/, "0")}/24`,
    " exit-address-family",
    " address-family l2vpn evpn",
    "  advertise ipv4 unicast",
    " exit-address-family",
    "exit",
  ];
}

/** Ties the VNI to its VRF on a ToR. zebra 8.4 ignores this in its configuration file, because it has not seen the VRF when it reads that. */
export const TENANT_VNI = ["vtysh", "-c", "configure terminal", "-c", `vrf ${TENANT_VRF}`, "-c", `vni ${VNI}`];
