import { parse } from "../../src/frr/config.ts";
import type { Fragment } from "../../src/frr/fragment.ts";

const INSTANCE = ` bgp router-id 10.0.0.1
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 no bgp network import-check
`;

export const underlay: Fragment = {
  owner: "Underlay/underlay",
  lines: parse(`route-map allowall permit 1
exit
router bgp 64514
${INSTANCE} neighbor 192.168.11.2 remote-as 64512
 address-family ipv4 unicast
  network 100.65.0.1/32
  neighbor 192.168.11.2 activate
  neighbor 192.168.11.2 allowas-in
 exit-address-family
 address-family l2vpn evpn
  neighbor 192.168.11.2 activate
  neighbor 192.168.11.2 allowas-in
  advertise-all-vni
 exit-address-family
exit
`),
};

/** An L3VNI with a host session, as it is rendered. */
export function l3vni(n: number, { guilty = false } = {}): Fragment {
  const host = `10.${n >> 8}.${n & 255}.2`;
  const speaks = `  neighbor ${host} activate
  neighbor ${host} route-map allowall in
  neighbor ${host} route-map allowall out
 exit-address-family
`;
  return {
    owner: `L3VNI/vrf${n}`,
    lines: parse(`vrf vrf${n}
 vni ${1000 + n}
exit-vrf
router bgp 64514 vrf vrf${n}
${INSTANCE} neighbor ${host} remote-as 64515
${guilty ? " neighbor 10.255.255.1 port 1179\n" : ""} address-family ipv4 unicast
  network ${host}/32
${speaks} address-family ipv6 unicast
${speaks} address-family l2vpn evpn
  advertise ipv4 unicast
  advertise ipv6 unicast
 exit-address-family
exit
`),
  };
}
