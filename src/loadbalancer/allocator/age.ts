import type { Wish } from "../services/address-request.ts";

/** The older first. Who does not say when it was created is younger than all. */
export function byAge(a: Wish, b: Wish): number {
  const [since, other] = [birth(a), birth(b)];
  if (since !== other) return since < other ? -1 : 1;
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}

function birth({ created }: Wish): number {
  const time = created.getTime();
  return Number.isNaN(time) ? Infinity : time;
}
