import { list, members, number, read, record, text, type UnparsedAnswer } from "./show-json.ts";
import type { FrrClient } from "./client.ts";

export interface Session {
  readonly vrf: string;
  readonly neighbor: string;
  readonly remoteAs: number;
  /** The state machine's: `Established`, `Active`, `Idle`, `Connect`, `Idle (Admin)`… */
  readonly state: string;
  /** How long it has been up or down. Unset if it was never up. */
  readonly sinceMs?: number;
  /** The number of transitions from up to down. */
  readonly drops: number;
  readonly families: readonly SessionFamily[];
}

interface SessionFamily {
  /** As FRR names it: `ipv4Unicast`, `l2VpnEvpn`. */
  readonly family: string;
  readonly received: number;
  readonly sent: number;
}

export interface Vni {
  readonly vni: number;
  readonly type: "L2" | "L3";
  readonly vrf?: string;
  /** Whether FRR has everything to use it. */
  readonly state: "Up" | "Down";
  readonly device?: string;
  readonly macs: number;
  readonly neighbors: number;
  /** Remote VTEPs. FRR does not report those of an L3 VNI. */
  readonly vteps: readonly string[];
}

/** The sessions of every VRF, in FRR's order. */
export async function sessions(router: FrrClient, signal: AbortSignal): Promise<Session[]> {
  const vrfs = await read(router, "bgpd", "show bgp vrf all summary json", signal);
  return members(vrfs).flatMap(([vrf, families]) => sessionsOf(vrf, families));
}

export async function vnis(router: FrrClient, signal: AbortSignal): Promise<Vni[]> {
  const all = await read(router, "zebra", "show evpn vni json", signal);
  const l3 = await read(router, "zebra", "show vrf vni json", signal);
  return vnisOf(all, l3);
}

/** mgmtd's transactions that have not ended, by their number. */
export async function openTransactions(router: FrrClient, signal: AbortSignal): Promise<ReadonlySet<string>> {
  const text = await (await router.vty("mgmtd", signal)).must("show mgmt transaction all", signal);
  return new Set(Array.from(text.matchAll(/^ *Txn-Id:\s+(\d+)$/gm), ([, id = ""]) => id));
}

/** Router MACs of the remote VTEPs of L3 VNIs, by `VNI VTEP`. */
export async function routerMacs(router: FrrClient, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const vnis = members(await read(router, "zebra", "show evpn rmac vni all json", signal));
  const found = vnis.flatMap(([vni, macs]) => members(macs).map(([mac, answer]) => [vni, mac, text(record(answer)["vtepIp"])] as const));
  return new Map(found.flatMap(([vni, mac, vtep]) => (vtep === undefined ? [] : [[`${vni} ${vtep}`, mac]])));
}

/** By link. A second IPv4 address of a network is not listed, and in 8.4 no link-local one. */
export async function knownAddresses(router: FrrClient, signal: AbortSignal): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const links = await read(router, "zebra", "show interface vrf all brief json", signal);
  return new Map(
    members(links).map(([link, answer]) => [link, new Set(list(record(answer)["addresses"]).flatMap((address) => text(address) ?? []))]),
  );
}

/** The tag of a locally originated route, in this VRF or the main table (""); undefined if there is none. */
export async function originatedTag(router: FrrClient, vrf: string, prefix: string, signal: AbortSignal): Promise<number | undefined> {
  const where = `${vrf === "" ? "" : `vrf ${vrf} `}${prefix.includes(":") ? "ipv6" : "ipv4"} unicast`;
  const answer = await read(router, "bgpd", `show bgp ${where} ${prefix} json`, signal);
  // A withdrawn one stays for a moment, marked.
  const own = list(record(answer)["paths"])
    .map(record)
    .find(({ sourced, removed }) => sourced === true && removed !== true);
  return own && number(own["tag"]);
}

function sessionsOf(vrf: string, families: unknown): Session[] {
  const found = new Map<string, Session & { families: SessionFamily[] }>();
  for (const [family, summary] of members(families)) {
    for (const [neighbor, answer] of members(record(summary)["peers"])) {
      const peer = record(answer);
      const counts = { family, received: number(peer["pfxRcd"]), sent: number(peer["pfxSnt"]) };
      const known = found.get(neighbor);
      if (known) known.families.push(counts);
      else found.set(neighbor, { ...sessionOf(vrf, neighbor, peer), families: [counts] });
    }
  }
  return [...found.values()];
}

function sessionOf(vrf: string, neighbor: string, peer: UnparsedAnswer): Session {
  return {
    vrf,
    neighbor,
    remoteAs: number(peer["remoteAs"]),
    state: text(peer["state"]) ?? "Unknown",
    ...(peer["peerUptime"] === "never" ? {} : { sinceMs: number(peer["peerUptimeMsec"]) }),
    drops: number(peer["connectionsDropped"]),
    families: [],
  };
}

function vnisOf(all: unknown, l3: unknown): Vni[] {
  const vrfs = new Map(list(record(l3)["vrfs"]).map((answer) => [number(record(answer)["vni"]), record(answer)]));
  return members(all)
    .map(([, answer]) => vniOf(record(answer), vrfs))
    .sort((a, b) => a.vni - b.vni);
}

function vniOf(answer: UnparsedAnswer, vrfs: ReadonlyMap<number, UnparsedAnswer>): Vni {
  const vni = number(answer["vni"]);
  const type = answer["type"] === "L3" ? "L3" : "L2";
  const device = knownName(answer["vxlanIf"]);
  const l3 = type === "L3" ? vrfs.get(vni) : undefined;
  // Before the VRF has a device, only the configuration has its name.
  const vrf = knownName(answer["tenantVrf"]) ?? knownName(l3?.["vrf"]);
  // An L2 VNI has no state: it is up while its device is.
  const up = type === "L3" ? l3?.["state"] === "Up" : device !== undefined;
  return {
    vni,
    type,
    ...(vrf ? { vrf } : {}),
    state: up ? "Up" : "Down",
    ...(device ? { device } : {}),
    macs: number(answer["numMacs"]),
    neighbors: number(answer["numArpNd"]),
    vteps: list(answer["remoteVteps"]).flatMap((vtep) => text(vtep) ?? text(record(vtep)["ip"]) ?? []),
  };
}

/** FRR's placeholders for an unknown name. */
function knownName(answer: unknown): string | undefined {
  return typeof answer === "string" && !/^(none|unknown|n\/a|)$/i.test(answer) ? answer : undefined;
}
