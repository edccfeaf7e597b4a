/**
 * How FRR 8.4 and 10 treat the lines that we render: which are contexts, which exclude each other, how each is removed, and what is removed
 * with it.
 */

export type Path = readonly string[];

const CONTEXTS: readonly { inside: RegExp; line: RegExp }[] = [
  {
    inside: /^$/,
    line: /^(router|vrf|interface|key chain|pbr-map|nexthop-group) \S|^(bfd|line vty|segment-routing|mpls ldp)$|^route-map \S+ (permit|deny) \d+$/,
  },
  { inside: /^router bgp [^\n]*$/, line: /^address-family / },
  { inside: /^router bgp [^\n]*\naddress-family l2vpn evpn$/, line: /^vni \d+$/ },
  { inside: /^bfd$/, line: /^(profile|peer) \S/ },
  { inside: /^key chain \S+$/, line: /^key \d+$/ },
];

export function isContext(path: Path, line: string): boolean {
  const inside = path.join("\n");
  return CONTEXTS.some((context) => context.line.test(line) && context.inside.test(inside));
}

/** The line that leads out of a context, as `show running-config` prints it. */
export function closingOf(context: string): string {
  const [, kind] = /^(vrf|address-family|vni) /.exec(context) ?? [];
  return kind ? `exit-${kind}` : "exit";
}

/** One form for what the versions print differently: 10 omits a number that 8.4 prints, and prints communities without a name. */
export function normalizeLine(line: string): string {
  if (line.startsWith("neighbor ") && line.endsWith(" ebgp-multihop")) return `${line} 255`;
  return line.startsWith("set community internet") ? line.replace("internet", "0:0") : line;
}

/** Contexts that exist only while they have lines. An empty `vrf` remains as long as the device exists, and that is not a difference. */
export function isBare(path: Path, line: string): boolean {
  return path.length === 0 ? /^(vrf|interface) /.test(line) : line.startsWith("address-family ");
}

/** Lines about FRR itself or the machine, and a banner, which cannot be removed: never ours to remove. */
export function isBuiltInLine(path: Path, line: string): boolean {
  return path.length === 0 && ITS_OWN.test(line);
}

const ITS_OWN =
  /^(frr (version|defaults) |(no )?(ip|ipv6) forwarding$|hostname |(no )?banner |service integrated-vtysh-config$|Building configuration|Current configuration)/;

/** At most one line can be in a slot. */
export interface Slot {
  readonly name: string;
  /** Another line replaces the first one, which must not be removed before. */
  readonly replaces: boolean;
}

export function slotsOf(path: Path, line: string): readonly Slot[] {
  if (path.length === 0) return topSlots(line);
  const [top = "", sub = ""] = path;
  if (top.startsWith("vrf ")) {
    // One VNI per VRF, and one VRF per VNI; FRR requires the old one to be removed first.
    return line.startsWith("vni ") ? [exclusive(`${top} vni`), exclusive(line)] : [];
  }
  if (top.startsWith("router bgp ")) return bgpSlots(line).map(({ name, replaces }) => ({ name: `${path.join("\n")}\n${name}`, replaces }));
  if (top === "bfd" && sub.startsWith("profile ")) {
    const [, setting] = PROFILE_VALUE.exec(line) ?? [];
    return setting ? [replaced(`${sub} ${setting}`)] : [];
  }
  return [];
}

function topSlots(line: string): readonly Slot[] {
  const [, asn, rest] = /^router bgp (\S+)(.*)$/.exec(line) ?? [];
  if (asn) return [exclusive(`router bgp${rest}`)];
  const [, map, order] = /^route-map (\S+) \S+ (\d+)$/.exec(line) ?? [];
  if (map) return [exclusive(`route-map ${map} ${order}`)];
  const [setting] = /^(hostname|log (stdout|file|syslog|monitor|facility|timestamp precision)) /.exec(`${line} `) ?? [];
  return setting ? [replaced(setting)] : [];
}

function bgpSlots(line: string): readonly Slot[] {
  const [, neighbor, setting] =
    /^neighbor (\S+) (?:interface )?(remote-as|port|password|ebgp-multihop|timers connect|timers|bfd profile|allowas-in|description|update-source|local-as|next-hop-self)\b/.exec(
      line,
    ) ?? [];
  // Another AS is another neighbor: it is removed with all its settings.
  if (setting === "remote-as" || setting === "next-hop-self") return [exclusive(`neighbor ${neighbor} ${setting}`)];
  if (setting) return [replaced(`neighbor ${neighbor} ${setting}`)];
  const [, peer, direction] = /^neighbor (\S+) route-map \S+ (in|out)$/.exec(line) ?? [];
  if (peer) return [replaced(`neighbor ${peer} route-map ${direction}`)];
  const [, other] = /^(bgp router-id|network \S+)/.exec(line) ?? [];
  return other ? [replaced(other)] : [];
}

const exclusive = (name: string): Slot => ({ name, replaces: false });
const replaced = (name: string): Slot => ({ name, replaces: true });

const PROFILE_VALUE =
  /^(detect-multiplier|transmit-interval|receive-interval|echo transmit-interval|echo receive-interval|minimum-ttl) \d+$/;

/** bfdd 8.4 has no `no` for these: they go back to their defaults, which FRR does not print. */
const PROFILE_DEFAULTS: Readonly<Record<string, number>> = {
  "detect-multiplier": 3,
  "transmit-interval": 300,
  "receive-interval": 300,
  "echo transmit-interval": 50,
  "echo receive-interval": 50,
};

export function negate(path: Path, line: string): string {
  if (path[0] === "bfd") {
    const [, setting = ""] = PROFILE_VALUE.exec(line) ?? [];
    const standard = PROFILE_DEFAULTS[setting];
    if (standard !== undefined) return `${setting} ${standard}`;
  }
  return line.startsWith("no ") ? line.slice("no ".length) : `no ${line}`;
}

/** Lines of a neighbor begin like this, in its instance and its address families, and are removed with it. */
export function neighborOf(line: string): string | undefined {
  return /^neighbor (\S+) (?:interface )?remote-as /.exec(line)?.[1];
}

/** The VRF of `router bgp 64514 vrf red`. */
export function vrfOfInstance(path: Path, line: string): string | undefined {
  return path.length === 0 ? /^router bgp \S+ vrf (\S+)$/.exec(line)?.[1] : undefined;
}

/** Whether it is the default instance. Its AS cannot change while it is there, nor can it go while a VRF has one. */
export function isDefaultInstance({ path, line }: { path: Path; line: string }): boolean {
  return path.length === 0 && /^router bgp \S+$/.test(line);
}

export function isInstanceIn({ path, line }: { path: Path; line: string }, vrf: string): boolean {
  return vrf === "default" ? isDefaultInstance({ path, line }) : path.length === 0 && /^router bgp \S+ vrf (\S+)$/.exec(line)?.[1] === vrf;
}

/** An instance, or the VNI of one: without any of these, BGP is gone. */
export function isOfBgp({ path, line }: { path: Path; line: string }): boolean {
  return path.length === 0 ? line.startsWith("router bgp ") : (path[0]?.startsWith("vrf ") ?? false) && line.startsWith("vni ");
}

const TOP_ORDER = [/^hostname /, /^log /, /^(ip|ipv6) nht /, /^(ip|ipv6|bgp) \S+-list |^(ip|ipv6) prefix-list /, /^route-map /, /^bfd$/];
const OF_USERS = TOP_ORDER.length + 1;

/** Lower first. Users come after their policy, a VRF's instance after the default one, and a VNI after its instance. */
export function addRank(path: Path, line: string): number {
  if (path.length === 0) {
    if (line.startsWith("router bgp ")) return OF_USERS + (line.includes(" vrf ") ? 1 : 0);
    if (line.startsWith("vrf ")) return OF_USERS + 2;
    const rank = TOP_ORDER.findIndex((pattern) => pattern.test(line));
    return rank < 0 ? TOP_ORDER.length : rank;
  }
  if (!path[0]?.startsWith("router bgp ")) return 0;
  if (path.length > 1) return line.endsWith(" activate") ? 0 : 1;
  if (/^(no )?bgp /.test(line)) return 0;
  if (neighborOf(line)) return 1;
  if (/^neighbor \S+ bfd$/.test(line)) return 2;
  if (line.startsWith("neighbor ")) return 3;
  return line.startsWith("address-family ") ? 5 : 4;
}

/** Its position in a file. frr-reload.py does not leave an instance before it opens a VRF, which FRR then takes for a line about that instance. */
export function fileRank(path: Path, line: string): number {
  return path.length === 0 && line.startsWith("vrf ") ? OF_USERS - 1 : addRank(path, line);
}

/** Whether others may use it: then it is removed after they changed. */
export function isPolicy(path: Path, line: string): boolean {
  return addRank([], path[0] ?? line) < OF_USERS;
}
