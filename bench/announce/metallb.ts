const PEERS = ["192.0.2.1", "192.0.2.2"];

/** The same as MetalLB's frr mode writes it: a line for each prefix in lists of each peer, sorted as text and numbered through. */
export function asMetallbWritesIt(addresses: readonly string[]): string {
  const prefixes = addresses.map((address) => `${address}/32`).sort();
  const list = (name: string) => prefixes.map((prefix, at) => `ip prefix-list ${name} seq ${at + 1} permit ${prefix}\n`).join("");
  const filters = PEERS.map(
    (
      peer,
    ) => `${list(`${peer}-64512:1-ip-community-prefixes`)}${list(`${peer}-allowed-ipv4`)}ipv6 prefix-list ${peer}-allowed-ipv6 seq 1 deny any
route-map ${peer}-in deny 20
exit
route-map ${peer}-out permit 1
 match ip address prefix-list ${peer}-64512:1-ip-community-prefixes
 on-match next
 set community 64512:1 additive
exit
route-map ${peer}-out permit 2
 match ip address prefix-list ${peer}-allowed-ipv4
exit
route-map ${peer}-out permit 3
 match ipv6 address prefix-list ${peer}-allowed-ipv6
exit
`,
  );
  const sessions = PEERS.map((peer) => ` neighbor ${peer} remote-as 64501\n`);
  const inFamily = PEERS.map(
    (peer) => `  neighbor ${peer} activate\n  neighbor ${peer} route-map ${peer}-in in\n  neighbor ${peer} route-map ${peer}-out out\n`,
  );
  return `${filters.join("")}router bgp 64500
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 bgp graceful-restart preserve-fw-state
 no bgp network import-check
${sessions.join("")} address-family ipv4 unicast
${prefixes.map((prefix) => `  network ${prefix}\n`).join("")}${inFamily.join("")} exit-address-family
exit
`;
}
