import { list, members, read, record, text, type ShowClient, type UnparsedAnswer } from "./show-json.ts";

/** A prefix in the BGP table of one VRF. */
export interface BgpRoute {
  readonly vrf: string;
  readonly prefix: string;
  readonly paths: readonly BgpPath[];
  /** The neighbors that it was sent to; where the whole table is read FRR does not report it. */
  readonly advertisedTo?: readonly string[];
}

interface BgpPath {
  /** The address of the neighbor that sent it; undefined for a path of our own. */
  readonly from?: string;
  /** Whether it is the best path, or one of several equal ones. */
  readonly isSelected: boolean;
}

/** The route to a prefix; of an address the longest one. */
export async function bgpRoute(router: ShowClient, vrf: string, target: string, signal: AbortSignal): Promise<BgpRoute | undefined> {
  const answer = record(await read(router, "bgpd", `show bgp vrf ${vrf} ${familyOf(target)} unicast ${target} json`, signal));
  const prefix = text(answer["prefix"]);
  if (prefix === undefined) return undefined;
  const paths = list(answer["paths"]).map(record);
  // One that was taken back stays for a moment, marked.
  const current = paths.filter(({ removed }) => removed !== true);
  return { vrf, prefix, paths: current.map(pathOf), advertisedTo: members(answer["advertisedTo"]).map(([peer]) => peer) };
}

export async function bgpTable(router: ShowClient, vrf: string, family: "IPv4" | "IPv6", signal: AbortSignal): Promise<BgpRoute[]> {
  const answer = record(await read(router, "bgpd", `show bgp vrf ${vrf} ${family.toLowerCase()} unicast json`, signal));
  return members(answer["routes"]).map(([prefix, paths]) => ({ vrf, prefix, paths: list(paths).map(record).map(listedPathOf) }));
}

function familyOf(target: string): string {
  return target.includes(":") ? "ipv6" : "ipv4";
}

function pathOf(path: UnparsedAnswer): BgpPath {
  const isSelected = record(path["bestpath"])["overall"] === true || path["multipath"] === true;
  const from = path["local"] === true ? undefined : text(record(path["peer"])["peerId"]);
  return { isSelected, ...(from !== undefined && { from }) };
}

function listedPathOf(path: UnparsedAnswer): BgpPath {
  const isSelected = path["bestpath"] === true || path["multipath"] === true;
  const from = text(path["peerId"]);
  return { isSelected, ...(from !== undefined && from !== "(unspec)" && { from }) };
}
