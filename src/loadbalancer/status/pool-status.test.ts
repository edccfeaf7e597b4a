import { expect, test } from "vitest";
import type { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import type { Usage } from "../allocator/allocator.ts";
import { poolStatus } from "./pool-status.ts";

const usage = (more: Partial<Usage> = {}): Usage => ({
  assignedIPv4: 5n,
  assignedIPv6: 0n,
  availableIPv4: 45n,
  availableIPv6: 0n,
  services: 4,
  ...more,
});
const statusOf = (used: Usage, existing?: IPAddressPool["status"], inEffect = true) => {
  const { status } = poolStatus(used, inEffect);
  return typeof status === "function" ? status(existing) : status;
};
const exhausted = (used: Usage, inEffect = true) =>
  statusOf(used, undefined, inEffect).conditions?.map(({ status, reason }) => `${status} ${reason}`);

test("the counters have the documented names, and fields of other writers stay", () => {
  const claims = [{ claim: "range/192.0.2.0-192.0.2.9", since: "2026-01-01T00:00:00Z" }];
  expect(statusOf(usage(), { claims, assignedIPV4: 99 })).toMatchObject({
    assignedIPV4: 5,
    assignedIPV6: 0,
    availableIPV4: 45,
    availableIPV6: 0,
    services: 4,
    claims,
  });
});

test("counters are capped at the largest safe integer of JSON", () => {
  expect(statusOf(usage({ availableIPv6: 1n << 64n })).availableIPV6).toBe(9_007_199_254_740_991);
  expect(statusOf(usage({ availableIPv6: (1n << 53n) - 1n })).availableIPV6).toBe(9_007_199_254_740_991);
  expect(statusOf(usage({ availableIPv6: (1n << 53n) - 2n })).availableIPV6).toBe(9_007_199_254_740_990);
});

test("a pool without a free address in one of its families is Exhausted", () => {
  expect(exhausted(usage())).toEqual(["False AddressesLeft"]);
  expect(exhausted(usage({ availableIPv4: 0n }))).toEqual(["True NoAddressLeft"]);
  expect(exhausted(usage({ availableIPv4: 0n, assignedIPv6: 1n, availableIPv6: 9n }))).toEqual(["True NoAddressLeft"]);
  expect(exhausted(usage({ assignedIPv4: 0n, availableIPv4: 0n, availableIPv6: 9n }))).toEqual(["False AddressesLeft"]);
});

test("a pool without a usable address is Exhausted", () => {
  const nothing = { assignedIPv4: 0n, availableIPv4: 0n };
  expect(exhausted(usage(nothing))).toEqual(["True NoAddressLeft"]);
  expect(statusOf(usage(nothing)).conditions?.[0]?.message).toBe("The pool has no usable address");
});

test("the Exhausted condition of an invalid pool is Unknown", () => {
  expect(exhausted(usage({ availableIPv4: 0n }), false)).toEqual(["Unknown PoolInvalid"]);
});
