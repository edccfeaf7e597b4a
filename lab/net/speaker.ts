import { type NodeName, numberOf, ROUTER_ASN } from "./topology.ts";

/** The node's end of blue's HostSession. */
const LINK = "host-200";

/** Of the lab's HostSessions: the L3VNI blue says so too. */
const HOST_ASN = 64515;
const ROUTER_END = "192.169.10.1";

/** What each speaker announces, and answers for. */
export function speakerAddress(node: NodeName): string {
  return `10.201.${numberOf(node)}.1`;
}

/** A plain FRR on the node itself, at the other end of the HostSession of blue. */
export function speakerConfig(node: NodeName): string[] {
  return [
    `hostname ${node}-speaker`,
    `router bgp ${HOST_ASN}`,
    ` bgp router-id ${speakerAddress(node)}`,
    " no bgp ebgp-requires-policy",
    ` neighbor ${ROUTER_END} remote-as ${ROUTER_ASN}`,
    ` neighbor ${ROUTER_END} timers connect 2`,
    " address-family ipv4 unicast",
    `  network ${speakerAddress(node)}/32`,
    // The speakers of all nodes have one AS number.
    `  neighbor ${ROUTER_END} allowas-in`,
    " exit-address-family",
    "exit",
  ];
}

/**
 * zebra 8.4 at times forgets the address of a link that has just come; the kernel is then made to tell of it once more. Where the link is not there no
 * process is started: on User-Mode Linux this alone took a fifth of the processor.
 */
export const SPEAKER_WATCH = `
is_there() {
  while read -r name rest; do [ "$name" != "${LINK}:" ] || return 0; done </proc/net/dev
  return 1
}
while sleep 5; do
  is_there || continue
  address=$(ip -4 -o address show dev ${LINK} 2>/dev/null | awk '{ print $4 }')
  [ -z "$address" ] || vtysh -N speaker -c "show interface ${LINK}" | grep -q "inet $address" || ip address replace "$address" dev ${LINK}
done
`;
