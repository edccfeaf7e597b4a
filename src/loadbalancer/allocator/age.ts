import type { AddressRequest } from "../services/address-request.ts";

/** The older first. A Service without creationTimestamp is the youngest. */
export function byAge(a: AddressRequest, b: AddressRequest): number {
  const [since, other] = [birth(a), birth(b)];
  if (since !== other) return since < other ? -1 : 1;
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}

function birth({ created }: AddressRequest): number {
  const time = created.getTime();
  return Number.isNaN(time) ? Infinity : time;
}
