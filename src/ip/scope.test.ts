import { expect, test } from "vitest";
import { parseAddress } from "./address.ts";
import { scopeOf } from "./scope.ts";

test.each([
  ["0.0.0.0", "unspecified"],
  ["::", "unspecified"],
  ["127.0.0.1", "loopback"],
  ["127.255.255.255", "loopback"],
  ["::1", "loopback"],
  ["169.254.169.254", "link-local"],
  ["fe80::1", "link-local"],
  ["febf:ffff::1", "link-local"],
  ["224.0.0.1", "multicast"],
  ["239.255.255.255", "multicast"],
  ["ff02::1", "multicast"],
  ["0.0.0.1", "unicast"],
  ["10.0.0.1", "unicast"],
  ["169.253.255.255", "unicast"],
  ["169.255.0.0", "unicast"],
  ["::2", "unicast"],
  ["fec0::1", "unicast"],
  ["2001:db8::1", "unicast"],
])("%s is %s", (address, scope) => {
  expect(scopeOf(parseAddress(address))).toBe(scope);
});

test("an IPv4-mapped address does not hide the scope of its IPv4 address", () => {
  expect(scopeOf(parseAddress("::ffff:169.254.169.254"))).toBe("link-local");
  expect(scopeOf(parseAddress("::ffff:127.0.0.1"))).toBe("loopback");
  expect(scopeOf(parseAddress("::ffff:10.0.0.1"))).toBe("unicast");
});
