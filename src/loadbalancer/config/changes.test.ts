import { expect, test, vi } from "vitest";
import type { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import type { Change } from "../../kube/cache/cache.ts";
import { configChangesOf } from "./changes.ts";

const pool = (metadata: Partial<IPAddressPool["metadata"]> = {}, status: IPAddressPool["status"] = {}): IPAddressPool => ({
  metadata: { name: "p", generation: 1, resourceVersion: "1", ...metadata },
  spec: { addresses: [], autoAssign: true, avoidBuggyIPs: false },
  status,
});

test.each<[string, number, Change<IPAddressPool>]>([
  ["a new object", 1, { type: "added", object: pool(), initial: false }],
  ["a deleted object", 1, { type: "deleted", object: pool() }],
  ["an edit", 1, { type: "updated", old: pool(), object: pool({ generation: 2 }) }],
  ["a label change", 1, { type: "updated", old: pool(), object: pool({ labels: { tier: "gold" } }) }],
  [
    "a new claim in the status",
    1,
    { type: "updated", old: pool(), object: pool({}, { claims: [{ claim: "range/a", since: "2026-01-01T00:00:00Z" }] }) },
  ],
  [
    "a claim of an unedited object, as old as the object",
    0,
    {
      type: "updated",
      old: pool({ creationTimestamp: "2026-01-01T00:00:00Z" }),
      object: pool({ creationTimestamp: "2026-01-01T00:00:00Z" }, { claims: [{ claim: "range/a", since: "2026-01-01T00:00:00Z" }] }),
    },
  ],
  [
    "the same claim of an edited object, which may keep its earlier version",
    1,
    {
      type: "updated",
      old: pool({ generation: 2, creationTimestamp: "2026-01-01T00:00:00Z" }),
      object: pool(
        { generation: 2, creationTimestamp: "2026-01-01T00:00:00Z" },
        { claims: [{ claim: "range/a", since: "2026-01-01T00:00:00Z" }] },
      ),
    },
  ],
  ["a counter", 0, { type: "updated", old: pool(), object: pool({ resourceVersion: "2" }, { assignedIPV4: 1 }) }],
  ["an annotation", 0, { type: "updated", old: pool(), object: pool({ annotations: { note: "x" } }) }],
])("%s triggers %i reconciles", (_what, times, change) => {
  const ring = vi.fn<(key: string) => void>();
  configChangesOf(
    {
      subscribe(listener) {
        listener(change);
        return () => undefined;
      },
      waitForSync: () => Promise.resolve(),
    },
    "configuration",
  ).subscribe(ring);
  expect(ring).toHaveBeenCalledTimes(times);
});
