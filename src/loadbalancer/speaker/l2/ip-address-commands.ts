import type { IpArgs } from "../../../hostnet/batch.ts";
import { SERVICE_ADDRESS_METRIC } from "../../../hostnet/watch-links.ts";
import { BITS, type Address } from "../../../ip/address.ts";

/**
 * Service addresses are on a link of our own and never on the node's interfaces: kubelet, k3s and flannel take the first address of an
 * interface for the node's.
 */
export const DEVICE = "plumbline-vip";

/** If the kernel has no dummy links, a bridge without ports is used; the other line fails without consequence. */
export const CREATE_DEVICE: readonly IpArgs[] = [
  ["link", "add", DEVICE, "type", "dummy"],
  ["link", "add", DEVICE, "type", "bridge"],
  ["link", "set", DEVICE, "addrgenmode", "none"],
  ["link", "set", DEVICE, "up"],
];

/** How long the kernel keeps an address that is not refreshed. */
export const LIFETIME_S = 25;
/** During a restart of the agent. */
export const RESTART_LIFETIME_S = 120;

export interface AddressRow {
  readonly family: "inet" | "inet6";
  readonly local?: string;
  readonly prefixlen: number;
  readonly metric?: number;
  readonly scope: string;
  readonly dynamic?: boolean;
  readonly tentative?: boolean;
  readonly valid_life_time: number;
  readonly preferred_life_time: number;
}

/** Adds the address, or extends its lifetime. Scope host: IPv4 is never chosen as a source. No prefix: that would add a route. */
export function addOrRefreshArgs(address: Address, seconds = LIFETIME_S): IpArgs {
  const options = address.family === 4 ? ["scope", "host"] : ["nodad", "noprefixroute"];
  const lifetime = ["valid_lft", String(seconds), "preferred_lft", "0"];
  return [
    "addr",
    "replace",
    `${String(address)}/${BITS[address.family]}`,
    "dev",
    DEVICE,
    ...options,
    ...lifetime,
    "metric",
    SERVICE_ADDRESS_METRIC,
  ];
}

export function deleteArgs(address: Address, device = DEVICE): IpArgs {
  return ["addr", "del", `${String(address)}/${BITS[address.family]}`, "dev", device];
}

/**
 * Whether it has the form of our addresses, so that an agent recognizes those of the earlier one. Earlier versions added it to the node's
 * interfaces.
 */
export function isServiceAddress(row: AddressRow): boolean {
  const isHost = row.family === "inet" ? row.prefixlen === 32 && row.scope === "host" : row.prefixlen === 128;
  return isHost && row.dynamic === true && row.preferred_life_time === 0 && String(row.metric) === SERVICE_ADDRESS_METRIC;
}
