import { type Rule, rule } from "../rule.ts";

interface Timers {
  readonly holdTimeSeconds?: number | undefined;
  readonly keepaliveTimeSeconds?: number | undefined;
}

interface Families {
  readonly address?: string | undefined;
  readonly addressFamilies?: readonly { readonly type: string }[] | undefined;
}

const isVpn = ({ type }: { type: string }) => type === "ipv4vpn" || type === "ipv6vpn";

/** What holds for the neighbors of v0.2 and of main. */
export const NEIGHBOR_RULES: readonly Rule<Timers & Families>[] = [
  rule({
    cel: "!has(self.holdTimeSeconds) || self.holdTimeSeconds == 0 || self.holdTimeSeconds >= 3",
    message: "holdTimeSeconds must be 0 or at least 3",
    check: ({ holdTimeSeconds: hold }) => hold === undefined || hold === 0 || hold >= 3,
  }),
  rule({
    cel: "!has(self.holdTimeSeconds) || !has(self.keepaliveTimeSeconds) || self.keepaliveTimeSeconds <= self.holdTimeSeconds",
    message: "keepaliveTimeSeconds must be at most holdTimeSeconds",
    check: ({ holdTimeSeconds: hold, keepaliveTimeSeconds: keepalive }) =>
      hold === undefined || keepalive === undefined || keepalive <= hold,
  }),
  rule({
    cel: "!has(self.addressFamilies) || !self.addressFamilies.exists(f, f.type == 'evpn') || !self.addressFamilies.exists(f, f.type in ['ipv4vpn', 'ipv6vpn'])",
    message: "evpn excludes ipv4vpn and ipv6vpn",
    check: ({ addressFamilies: families = [] }) => !families.some(({ type }) => type === "evpn") || !families.some(isVpn),
  }),
  rule({
    cel: "!has(self.addressFamilies) || !self.addressFamilies.exists(f, f.type in ['ipv4vpn', 'ipv6vpn']) || (has(self.address) && self.address.contains(':'))",
    message: "ipv4vpn and ipv6vpn require an IPv6 address",
    check: ({ addressFamilies: families = [], address = "" }) => !families.some(isVpn) || address.includes(":"),
  }),
];
