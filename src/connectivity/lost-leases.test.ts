import { expect, test } from "vitest";
import type { Lease } from "../api/core/lease.ts";
import type { Change } from "../kube/cache/cache.ts";
import { LostLeases } from "./lost-leases.ts";
import { sourceLease } from "./source-lease.ts";

const leaseOf = (pod: string): Lease => ({ metadata: { ...sourceLease(pod), namespace: "shop" }, spec: {} });

test("a pod whose Lease was deleted is remembered while it has checks, or until it has a Lease again", () => {
  const checked = new Set(["shop/web", "shop/api", "shop/job"]);
  const listeners: ((change: Change<Lease>) => void)[] = [];
  const tell = (change: Change<Lease>) => listeners.forEach((listener) => listener(change));
  const subscribe = (listener: (change: Change<Lease>) => void) => {
    listeners.push(listener);
    return () => {};
  };
  const lost = new LostLeases({ subscribe }, (source) => checked.has(source));
  for (const pod of ["web", "api", "job", "bare"]) tell({ type: "added", object: leaseOf(pod), initial: true });
  expect([...lost.sources()]).toEqual([]);
  for (const pod of ["web", "api", "job", "bare"]) tell({ type: "deleted", object: leaseOf(pod) });
  expect([...lost.sources()]).toEqual(["shop/web", "shop/api", "shop/job"]);
  tell({ type: "added", object: leaseOf("web"), initial: false });
  checked.delete("shop/job");
  expect([...lost.sources()]).toEqual(["shop/api"]);
  checked.add("shop/job");
  expect([...lost.sources()]).toEqual(["shop/api"]);
});
