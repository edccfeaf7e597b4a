import { expect, test } from "vitest";
import { parseAddress } from "../../ip/address.ts";
import { parsePrefix } from "../../ip/prefix.ts";
import { forbiddenReason } from "./special-addresses.ts";

test.each([
  ["0.0.0.0", "0.0.0.0 is the unspecified address; allow it with --allow-target 0.0.0.0/32"],
  ["::", ":: is the unspecified address; allow it with --allow-target ::/128"],
  ["127.0.0.53", "127.0.0.53 is a loopback address; allow it with --allow-target 127.0.0.53/32"],
  ["::1", "::1 is a loopback address; allow it with --allow-target ::1/128"],
  ["::ffff:127.0.0.1", "::ffff:127.0.0.1 is a loopback address; allow it with --allow-target 127.0.0.1/32"],
  ["169.254.169.254", "169.254.169.254 is a link-local address; allow it with --allow-target 169.254.169.254/32"],
  ["fe80::1", "fe80::1 is a link-local address; allow it with --allow-target fe80::1/128"],
  ["224.0.0.1", "224.0.0.1 is a multicast address; allow it with --allow-target 224.0.0.1/32"],
  ["ff02::1", "ff02::1 is a multicast address; allow it with --allow-target ff02::1/128"],
  ["100.100.100.200", "100.100.100.200 is an address of cloud metadata; allow it with --allow-target 100.100.100.200/32"],
  ["fd00:ec2::254", "fd00:ec2::254 is an address of cloud metadata; allow it with --allow-target fd00:ec2::254/128"],
  ["::ffff:168.63.129.16", "::ffff:168.63.129.16 is an address of cloud metadata; allow it with --allow-target 168.63.129.16/32"],
  ["64:ff9b::a9fe:a9fe", "64:ff9b::a9fe:a9fe is a link-local address; allow it with --allow-target 169.254.169.254/32"],
  // 169.254.169.254 behind a NAT64 prefix of local use, with a prefix of 96, 64, 56 and 48 bits; bits behind it do not count.
  // The last one could also be 169.254.0.8 behind 64 bits.
  ["64:ff9b:1::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe is a link-local address; allow it with --allow-target 169.254.169.254/32"],
  ["64:ff9b:1:7:a9:fea9:fe00:0", "64:ff9b:1:7:a9:fea9:fe00:0 is a link-local address; allow it with --allow-target 169.254.169.254/32"],
  ["64:ff9b:1:7a9:fe:a9fe:0:1", "64:ff9b:1:7a9:fe:a9fe:0:1 is a link-local address; allow it with --allow-target 169.254.169.254/32"],
  ["64:ff9b:1:a9fe:a9:fe00:808:808", "64:ff9b:1:a9fe:a9:fe00:808:808 is a link-local address; allow it with --allow-target 169.254.0.8/32"],
  ["64:ff9b:1::7f00:1", "64:ff9b:1::7f00:1 is a loopback address; allow it with --allow-target 127.0.0.1/32"],
])("%s is forbidden", (address, why) => {
  expect(forbiddenReason(parseAddress(address), [])).toBe(why);
});

test.each([
  "10.0.0.1",
  "8.8.8.8",
  "100.64.0.1",
  "fd00::1",
  "2001:db8::1",
  "::ffff:10.0.0.1",
  "64:ff9b::8.8.8.8",
  "64:ff9b:1::8.8.8.8",
  "64:ff9b:1:808:8:800::",
])("%s may be probed", (address) => {
  expect(forbiddenReason(parseAddress(address), [])).toBeUndefined();
});

test.each([
  ["127.0.0.1", "127.0.0.0/8", true],
  ["::ffff:127.0.0.1", "127.0.0.1/32", true],
  ["127.0.0.2", "127.0.0.1/32", false],
  ["::1", "127.0.0.0/8", false],
  ["169.254.20.10", "169.254.20.10/32", true],
  ["fd00:ec2::254", "fd00:ec2::/32", true],
  ["64:ff9b:1::a9fe:a9fe", "169.254.169.254/32", true],
  ["64:ff9b:1::a9fe:a9fe", "64:ff9b:1::/48", true],
  ["64:ff9b:1:a9fe:a9:fe00:808:808", "8.8.8.8/32", false],
])("whether %s is allowed with %s: %j", (address, prefix, allowed) => {
  expect(forbiddenReason(parseAddress(address), [parsePrefix(prefix)]) === undefined).toBe(allowed);
});
