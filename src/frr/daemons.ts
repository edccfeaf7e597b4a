import type { FrrVersion } from "./client.ts";

export type Daemon = "mgmtd" | "zebra" | "bgpd" | "bfdd" | "staticd";

const BEFORE_MGMTD: readonly Daemon[] = ["zebra", "bgpd", "bfdd", "staticd"];
const WITH_MGMTD: readonly Daemon[] = ["mgmtd", ...BEFORE_MGMTD];

/** The daemons of a router, in the order in which they start. */
export function daemonsOf(version: Pick<FrrVersion, "major">): readonly Daemon[] {
  return version.major >= 10 ? WITH_MGMTD : BEFORE_MGMTD;
}

/** Every daemon has these, each for itself. */
const EVERYONES = /^(no )?(hostname|domainname|log|password|enable password|service|line vty|debug (memory|northbound|routemap))\b/;
/** mgmtd answers for zebra and staticd in what has become a model, and leaves them the rest. */
const OWNERS: readonly { line: RegExp; owner: Daemon; modeled: boolean }[] = [
  { line: /^(router bgp|bgp|debug bgp|debug vnc|rpki|vnc|mac access-list)\b/, owner: "bgpd", modeled: false },
  // zebra knows route maps and lists as well, but not all lines in them; ours are for bgpd.
  { line: /^(route-map|(ip |ipv6 )?(prefix-list|access-list)|ip (as-path|(ext|large-)?community-list))\b/, owner: "bgpd", modeled: false },
  { line: /^(bfd|debug bfd)\b/, owner: "bfdd", modeled: false },
  { line: /^(ip|ipv6) (route|mroute)\b/, owner: "staticd", modeled: true },
  { line: /^debug static\b/, owner: "staticd", modeled: false },
  { line: /^(vrf|interface|(ip|ipv6) (nht|router-id|protocol)|router-id)\b/, owner: "zebra", modeled: true },
];

/** Which daemons take a line of the top level, with the lines inside it. An unknown line goes to zebra, which rejects it. */
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
