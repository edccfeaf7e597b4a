import type { IpArgs } from "../../../hostnet/batch.ts";
import { SERVICE_ADDRESS_METRIC } from "../../../hostnet/watch-links.ts";
import { BITS, type Address } from "../../../ip/address.ts";

/**
 * Service addresses are on a link of our own and never on the node's interfaces: kubelet, k3s and flannel take the first address of an interface for the
 * node's.
 */
export const DEVICE = "plumbline-vip";

/** Where the kernel has no dummy links a bridge without ports does the same; the line that fails is of no consequence. */
export const CREATE_DEVICE: readonly IpArgs[] = [
  ["link", "add", DEVICE, "type", "dummy"],
  ["link", "add", DEVICE, "type", "bridge"],
  ["link", "set", DEVICE, "addrgenmode", "none"],
  ["link", "set", DEVICE, "up"],
];

/** How long the kernel keeps an address that is not refreshed. */
export const LIFETIME_S = 25;
/** While the agent is restarted. */
export const RESTART_LIFETIME_S = 120;

/** Of what `ip -j addr` shows. */
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

/** Adds the address, or extends its lifetime. Scope host keeps IPv4 from ever being chosen as a source; a prefix route would make the link a route. */
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

/** Whether it has the form that we give, so that an agent knows again what the one before it has left. Earlier versions gave it on the node's interfaces. */
export function isServiceAddress(row: AddressRow): boolean {
  const isHost = row.family === "inet" ? row.prefixlen === 32 && row.scope === "host" : row.prefixlen === 128;
  return isHost && row.dynamic === true && row.preferred_life_time === 0 && String(row.metric) === SERVICE_ADDRESS_METRIC;
}
