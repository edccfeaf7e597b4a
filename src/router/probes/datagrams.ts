import { LOSSES } from "./pairs.ts";

export const SMALL_DATAGRAM = 100;
export const TRAIN = 10;
/** Tried when the required size does not pass. */
export const SMALLER = [8_972, 4_022, 1_522, 1_472, 1_422, 1_372, 1_322, 1_272, 1_222, 1_172, 548];
/** Outer Ethernet payload: IPv4 and UDP header, VXLAN header and inner Ethernet header around the inner MTU; the datagram has its own IPv4 and UDP header. */
const ENCAPSULATION = 22;

/** Enough of a minute to be no accident. */
export function isLossy({ lost, sent }: { lost: number; sent: number }): boolean {
  return sent >= 2 * TRAIN && lost >= LOSSES && lost * 20 >= sent;
}

export function requiredSize({ vnis }: { readonly vnis: readonly { readonly mtu: number }[] }): number {
  return Math.max(SMALL_DATAGRAM, ...vnis.map(({ mtu }) => mtu + ENCAPSULATION));
}

export function vtepPairs(peer: number, required: number): { peer: number; where: "udp"; size: number }[] {
  return [SMALL_DATAGRAM, required].map((size) => ({ peer, where: "udp", size }));
}
