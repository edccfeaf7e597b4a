import { tenantConfig } from "./tenant.ts";
import { CLIENT_NETWORK, NODES, ROUTER_ASN, SPEAKER_ASN, TOR_ADDRESS, TOR_ASN, underlayAddress } from "./topology.ts";

/**
 * The top-of-rack switch: hands the nodes' VTEP addresses and EVPN routes to each other, and is a VTEP of the tenant blue.
 * Where the nodes have no router it peers with their load balancers.
 */
export function torConfig({ routers }: { routers: boolean }): string[] {
  return [
    "hostname tor",
    "log file /var/log/frr/frr.log informational",
    // zebra 8.4 takes the kernel's object of the old nexthops away before a route has the new ones.
    "no zebra nexthop kernel enable",
    "ip nht resolve-via-default",
    ...(routers ? [] : ["bfd", " profile fast", "  receive-interval 300", "  transmit-interval 300"]),
    `router bgp ${TOR_ASN}`,
    ` bgp router-id ${TOR_ADDRESS}`,
    " no bgp ebgp-requires-policy",
    " no bgp default ipv4-unicast",
    " neighbor nodes peer-group",
    ` neighbor nodes remote-as ${routers ? ROUTER_ASN : SPEAKER_ASN}`,
    " neighbor nodes timers 3 9",
    " neighbor nodes timers connect 2",
    // Only for those who ask for it: a session whose other side knows no BFD lives without.
    ...(routers ? [] : [" neighbor nodes bfd profile fast"]),
    ...NODES.map((node) => ` neighbor ${underlayAddress(node)} peer-group nodes`),
    " address-family ipv4 unicast",
    "  neighbor nodes activate",
    "  maximum-paths 8",
    `  network ${CLIENT_NETWORK}`,
    " exit-address-family",
    " address-family l2vpn evpn",
    "  neighbor nodes activate",
    ...(routers ? ["  advertise-all-vni"] : []),
    " exit-address-family",
    "exit",
    ...(routers ? tenantConfig() : []),
  ];
}
