import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FailedLogins, networkOf } from "./login.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test("ten wrong tokens within a minute block their address, and no other", () => {
  const tries = new FailedLogins();
  for (let count = 0; count < 10; count += 1) {
    expect(tries.areTooMany("192.0.2.1")).toBe(false);
    tries.add("192.0.2.1");
  }
  expect(tries.areTooMany("192.0.2.1")).toBe(true);
  expect(tries.areTooMany("192.0.2.2")).toBe(false);
  vi.advanceTimersByTime(60_000);
  expect(tries.areTooMany("192.0.2.1")).toBe(false);
});

test("many wrong tokens from other addresses do not block a viewer", () => {
  const tries = new FailedLogins();
  for (let count = 0; count < 1_000; count += 1) tries.add(networkOf(`2001:db8:0:${count.toString(16)}::1`));
  expect(tries.areTooMany("192.0.2.9")).toBe(false);
});

test.for([
  ["192.0.2.1", "192.0.2.1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8:1:2::6", "2001:db8:1:2::/64"],
  ["2001:0db8::1", "2001:db8::/64"],
  ["::1", "::/64"],
  ["fe80::1%eth0", "fe80::/64"],
  ["", ""],
])("attempts from %s are counted for %s", ([address = "", network]) => {
  expect(networkOf(address)).toBe(network);
});
