import type { FrrVersion } from "./client.ts";

export type Daemon = "mgmtd" | "zebra" | "bgpd" | "bfdd" | "staticd";

const BEFORE_MGMTD: readonly Daemon[] = ["zebra", "bgpd", "bfdd", "staticd"];
const WITH_MGMTD: readonly Daemon[] = ["mgmtd", ...BEFORE_MGMTD];

export function daemonsOf(version: Pick<FrrVersion, "major">): readonly Daemon[] {
  return version.major >= 10 ? WITH_MGMTD : BEFORE_MGMTD;
}

/** Commands of every daemon. */
const EVERYONES = /^(no )?(hostname|domainname|log|password|enable password|service|line vty|debug (memory|northbound|routemap))\b/;
/** mgmtd handles the modeled part of zebra and staticd. */
const OWNERS: readonly { line: RegExp; owner: Daemon; modeled: boolean }[] = [
  { line: /^(router bgp|bgp|debug bgp|debug vnc|rpki|vnc|mac access-list)\b/, owner: "bgpd", modeled: false },
  // zebra also has route maps and lists, but not all lines in them; ours are for bgpd.
  { line: /^(route-map|(ip |ipv6 )?(prefix-list|access-list)|ip (as-path|(ext|large-)?community-list))\b/, owner: "bgpd", modeled: false },
  { line: /^(bfd|debug bfd)\b/, owner: "bfdd", modeled: false },
  { line: /^(ip|ipv6) (route|mroute)\b/, owner: "staticd", modeled: true },
  { line: /^debug static\b/, owner: "staticd", modeled: false },
  { line: /^(vrf|interface|(ip|ipv6) (nht|router-id|protocol)|router-id)\b/, owner: "zebra", modeled: true },
];

/** The daemons of a top-level line and the lines inside it. An unknown line goes to zebra, which rejects it. */
export function ownersOf(version: Pick<FrrVersion, "major">): (top: string) => readonly Daemon[] {
  const all = daemonsOf(version);
  return (top) => {
    if (EVERYONES.test(top)) return all;
    const line = top.replace(/^no /, "");
    const found = OWNERS.find((candidate) => candidate.line.test(line));
    if (!found) return ["zebra"];
    return [found.modeled && all.includes("mgmtd") ? "mgmtd" : found.owner];
  };
}
