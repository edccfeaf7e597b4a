import { tenantConfig } from "./tenant.ts";
import { ROUTER_ASN, SPEAKER_ASN, type Topology, type Tor, underlayAddress } from "./topology.ts";

/**
 * A top-of-rack switch: hands the nodes' VTEP addresses and EVPN routes to each other, and is a VTEP of the tenant blue.
 * Where the nodes have no router it peers with their load balancers.
 */
export function torConfig(tor: Tor, { nodes }: Topology, { routers }: { routers: boolean }): string[] {
  return [
    `hostname ${tor.name}`,
    "log file /var/log/frr/frr.log informational",
    // zebra 8.4 takes the kernel's object of the old nexthops away before a route has the new ones.
    "no zebra nexthop kernel enable",
    "ip nht resolve-via-default",
    ...(routers ? [] : ["bfd", " profile fast", "  receive-interval 300", "  transmit-interval 300"]),
    `router bgp ${tor.asn}`,
    ` bgp router-id ${tor.address}`,
    " no bgp ebgp-requires-policy",
    " no bgp default ipv4-unicast",
    " neighbor nodes peer-group",
    ` neighbor nodes remote-as ${routers ? ROUTER_ASN : SPEAKER_ASN}`,
    " neighbor nodes timers 3 9",
    " neighbor nodes timers connect 2",
    // Only if the peer uses BFD: other sessions work without it.
    ...(routers ? [] : [" neighbor nodes bfd profile fast"]),
    ...nodes.map((node) => ` neighbor ${underlayAddress(node, tor)} peer-group nodes`),
    " address-family ipv4 unicast",
    "  neighbor nodes activate",
    "  maximum-paths 16",
    `  network ${tor.clientNetwork}`,
    " exit-address-family",
    " address-family l2vpn evpn",
    "  neighbor nodes activate",
    ...(routers ? ["  advertise-all-vni"] : []),
    " exit-address-family",
    "exit",
    ...(routers ? tenantConfig(tor) : []),
  ];
}
