import { expect, test } from "vitest";
import { sourceLease, sourceOfLease, LostLeases } from "./source-lease.ts";
import type { Lease } from "../api/core/lease.ts";
import type { Change } from "../kube/cache/cache.ts";

test.each(["web", "kube-apiserver-ip-10-0-135-158.us-west-1.compute.internal", "a".repeat(253)])(
  "the Lease of pod %s is identified by its annotation",
  (pod) => {
    const metadata = { ...sourceLease(pod), namespace: "shop" };
    expect(metadata.name.length).toBeLessThanOrEqual(253);
    expect(metadata.labels).toEqual({ "plumbline.dev/component": "check-source" });
    expect(sourceOfLease({ metadata, spec: {} })).toBe(`shop/${pod}`);
  },
);

test("an unrelated Lease belongs to no source", () => {
  const metadata = { ...sourceLease("web"), namespace: "shop" };
  expect(sourceOfLease({ metadata: { ...metadata, annotations: {} }, spec: {} })).toBeUndefined();
  expect(sourceOfLease({ metadata: { ...metadata, name: "check-api" }, spec: {} })).toBeUndefined();
});

const leaseOf = (pod: string): Lease => ({ metadata: { ...sourceLease(pod), namespace: "shop" }, spec: {} });

test("a pod whose Lease was deleted is kept while it has checks, or until it has a Lease again", () => {
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
