import { expect, test } from "vitest";
import type { Lease } from "../../api/core/lease.ts";
import { observeLease, takeoverOf } from "./observed-lease.ts";

const lease = (renewTime: string, holderIdentity = "other"): Lease => ({
  metadata: { name: "controller", resourceVersion: renewTime },
  spec: { holderIdentity, renewTime, leaseDurationSeconds: 15, leaseTransitions: 1 },
});

test("a Lease expires a full duration after its last observed renewal, whatever renewTime says", () => {
  const longAgo = observeLease(undefined, lease("1999-01-01T00:00:00.000000Z"), 1_000);
  expect(takeoverOf(longAgo, 15_999)).toBeUndefined();
  expect(takeoverOf(longAgo, 16_000)).toBe("expired");

  const again = observeLease(longAgo, lease("1999-01-01T00:00:00.000000Z"), 14_000);
  expect(takeoverOf(again, 16_000)).toBe("expired");

  const renewed = observeLease(longAgo, lease("1998-01-01T00:00:00.000000Z"), 14_000);
  expect(takeoverOf(renewed, 28_999)).toBeUndefined();
});

test("a Lease without a holder may be acquired at once, like a missing one", () => {
  expect(takeoverOf(undefined, 0)).toBe("free");
  expect(takeoverOf(observeLease(undefined, lease("2026-01-01T00:00:00.000000Z", ""), 0), 0)).toBe("released");
});
