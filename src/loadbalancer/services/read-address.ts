import { type Address, addressOf } from "../../ip/address.ts";

/** An IPv4 address in IPv6 notation is that IPv4 address, as it is for the API server and for MetalLB; undefined where the text is none. */
export function readAddress(text: string): Address | undefined {
  const address = addressOf(text);
  return address?.mappedIPv4 ?? address;
}
