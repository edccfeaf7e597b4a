import type { Words } from "../../../hostnet/batch.ts";
import { SERVICE_ADDRESS_METRIC } from "../../../hostnet/watch-links.ts";
import { BITS, type Address } from "../../../ip/address.ts";

/** How long the kernel keeps an address that nobody refreshes. */
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

/** Adds the address, or has it live on. Scope host keeps IPv4 from ever being chosen as a source; without `nodad` IPv6 would vanish by itself. */
export function keep(address: Address, device: string, seconds = LIFETIME_S): Words {
  const form = address.family === 4 ? ["scope", "host"] : ["nodad"];
  const lifetime = ["valid_lft", String(seconds), "preferred_lft", "0"];
  return [
    "addr",
    "replace",
    `${String(address)}/${BITS[address.family]}`,
    "dev",
    device,
    ...form,
    ...lifetime,
    "metric",
    SERVICE_ADDRESS_METRIC,
  ];
}

export function drop(address: Address, device: string): Words {
  return ["addr", "del", `${String(address)}/${BITS[address.family]}`, "dev", device];
}

/** Whether it has the form that we give, so that an agent knows again what the one before it has left. */
export function isServiceAddress(row: AddressRow): boolean {
  const form = row.family === "inet" ? row.prefixlen === 32 && row.scope === "host" : row.prefixlen === 128;
  return form && row.dynamic === true && row.preferred_life_time === 0 && String(row.metric) === SERVICE_ADDRESS_METRIC;
}
