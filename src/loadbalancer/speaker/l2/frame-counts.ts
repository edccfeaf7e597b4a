import type { Address } from "../../../ip/address.ts";
import { l2GratuitousSent, l2RequestsReceived, l2ResponsesSent } from "../../metrics.ts";
import type { OwnershipState } from "./address-ownership.ts";

/** What is asked of this node, its kernel answers. */
export function countRequest(address: Address, state: OwnershipState | undefined, device: string, times: number): void {
  if (state?.is !== "holding" || !state.interfaces.includes(device)) return;
  for (const metric of [l2RequestsReceived, l2ResponsesSent]) metric.inc({ ip: String(address) }, times);
}

export function countGratuitous(address: Address): void {
  l2GratuitousSent.inc({ ip: String(address) });
}

/** It is another node's now. */
export function removeAddressMetrics(address: Address): void {
  for (const metric of [l2RequestsReceived, l2ResponsesSent, l2GratuitousSent]) metric.remove({ ip: String(address) });
}
