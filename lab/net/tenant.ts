import { TOR_ADDRESS, TOR_ASN } from "./topology.ts";

/** The tenant of the lab's L3VNI blue: the ToR is a VTEP of it, so that a client of the tenant reaches its Services through the EVPN fabric. */
const VRF = "blue";
const VNI = 200;
const TABLE = 1200;
const BRIDGE = "br-blue";
/** The ToR's port towards the client. */
const PORT = "client-blue";
/** The client's NIC in the tenant. */
const CLIENT_LINK = "blue0";
const CLIENT_ADDRESS = "10.21.0.2/24";
const GATEWAY = "10.21.0.1";
const CLIENT_NETWORK = "10.21.0.0/24";
/** Of Services that are announced in the tenant only: the pool of lab/kube/manifests says so too. */
const SERVICE_NETWORK = "10.202.0.0/24";
/** The router's end of blue's HostSession on every node. */
const HOST_SESSION_ROUTER = "192.169.10.1";

/** Lines of `ip` on the machine that all hosts are on. */
export function tenantLinks({ tor, client }: { tor: number; client: number }): string[] {
  return [`link add ${PORT} type veth peer name ${CLIENT_LINK} netns ${client}`, `link set ${PORT} netns ${tor}`];
}

/** Lines of `ip` on the ToR. */
export function tenantOnTor(): string[] {
  return [
    `link add ${VRF} up type vrf table ${TABLE}`,
    `link add ${BRIDGE} up master ${VRF} type bridge`,
    `link add vni${VNI} up master ${BRIDGE} type vxlan id ${VNI} local ${TOR_ADDRESS} dstport 4789 nolearning`,
    `link set ${PORT} master ${VRF} up`,
    `address add ${GATEWAY}/24 dev ${PORT}`,
  ];
}

/** Lines of `ip` on the client. */
export function tenantOnClient(): string[] {
  return [`address add ${CLIENT_ADDRESS} dev ${CLIENT_LINK}`, `link set ${CLIENT_LINK} up`, `route add ${SERVICE_NETWORK} via ${GATEWAY}`];
}

/** Of the ToR's FRR. */
export function tenantConfig(): string[] {
  return [
    `router bgp ${TOR_ASN} vrf ${VRF}`,
    ` bgp router-id ${TOR_ADDRESS}`,
    " address-family ipv4 unicast",
    "  maximum-paths 8",
    `  network ${CLIENT_NETWORK}`,
    " exit-address-family",
    " address-family l2vpn evpn",
    "  advertise ipv4 unicast",
    " exit-address-family",
    "exit",
  ];
}

/** Ties the VNI to its VRF on the ToR. zebra 8.4 ignores this in its configuration file, because it has not seen the VRF when it reads that. */
export const TENANT_VNI = ["vtysh", "-c", "configure terminal", "-c", `vrf ${VRF}`, "-c", `vni ${VNI}`];

/** A node's way back to clients of the tenant. */
export const TENANT_RETURN_ROUTE = { network: CLIENT_NETWORK, via: HOST_SESSION_ROUTER };
