import { join } from "node:path";
import type { NetnsRole } from "./desired-link.ts";
import type { NetworkNamespaces } from "./namespaces.ts";
import { linkOwnership } from "./ownership.ts";
import { run } from "./run.ts";
import type { Link, Links } from "./snapshot.ts";

/** Something that we did not make, and that can keep packets from our links. */
export interface ForeignObject {
  readonly object: "rule" | "route" | "neighbor" | "qdisc" | "filter" | "nftables" | "port" | "mtu";
  readonly netns: NetnsRole;
  /** Of an object that belongs to one. */
  readonly link?: string;
  /** As `ip`, `tc` or `nft` prints it. */
  readonly text: string;
}

/** What the router sends and receives its packets with. */
export interface UnderlayPath {
  readonly nics: readonly string[];
  /** The prefix of all VTEPs. */
  readonly vteps?: string | undefined;
  /** The largest packet that the VNIs send, encapsulated. */
  readonly mtu: number;
}

/** The router's namespace is ours: all rules there count, and what is on any of its links. */
const ROUTER = `
echo '# rule'; ip rule; ip -6 rule
[ -z "$1" ] || { echo '# route'; ip route show table main root "$1"; }
shift
echo '# neighbor'; for nic; do ip neigh show dev "$nic" nud permanent | sed "s/ / dev $nic /"; done
echo '# nftables'; nft -s -t list ruleset`;
/** In the host's, tables of kube-proxy, of CNIs and of iptables are not read: they have tens of thousands of rules. */
const HOST = `
echo '# nftables'
nft list tables | while read -r _ family name; do
  case "$family $name" in
    "ip filter"|"ip nat"|"ip mangle"|"ip raw"|"ip security"|"ip6 filter"|"ip6 nat"|"ip6 mangle"|"ip6 raw"|"ip6 security") ;;
    *" kube-proxy"|*" calico"|*" plumbline") ;;
    *) nft -s -t list table "$family" "$name" ;;
  esac
done`;
/** Filters are asked for only where there can be some. */
const BOTH = `
qdiscs=$(tc qdisc show)
echo '# qdisc'; echo "$qdiscs"
echo '# filter'
echo "$qdiscs" | sed -n 's/^qdisc \\(ingress\\|clsact\\) .* dev \\([^ ]*\\) .*/\\2/p' | while read -r dev; do
  for side in ingress egress; do tc filter show dev "$dev" $side | tr -s ' \\t\\n' ' ' | sed "s/filter /\\nfilter dev $dev $side /g"; done
done`;

/** One shell in each namespace. What a kernel or an image does not have prints nothing. */
export async function readForeign(
  namespaces: NetworkNamespaces,
  have: Readonly<Record<NetnsRole, Links>>,
  path: UnderlayPath,
  signal: AbortSignal,
): Promise<ForeignObject[]> {
  const nics = path.nics.filter((nic) => have.router.has(nic));
  const shell = async (netns: NetnsRole, script: string, ...args: string[]) => {
    const namespace = namespaces[netns];
    const entry = namespace === undefined ? [] : ["nsenter", `--net=${join("/run/netns", namespace)}`, "--"];
    const [program = "", ...rest] = [...entry, "sh", "-c", `exec 2>/dev/null\n${script}${BOTH}\n:`, netns, ...args];
    return (await run(program, rest, { signal, namespace })).stdout;
  };
  const [router, host] = await Promise.all([shell("router", ROUTER, path.vteps ?? "", ...nics), shell("host", HOST)]);
  return [
    ...foreignIn("router", router, [...have.router.values()], nics),
    ...foreignIn(
      "host",
      host,
      [...have.host.values()].filter((link) => linkOwnership(link) !== "foreign"),
      [],
    ),
    ...changedPorts(have.host),
    ...smallNics(have.router, nics, path.mtu),
  ];
}

/** Those that the texts show; `links` are those that packets of ours pass. */
export function foreignIn(netns: NetnsRole, text: string, links: readonly Pick<Link, "name">[], nics: readonly string[]): ForeignObject[] {
  const names = new Set(links.map(({ name }) => name));
  const sections = text.split(/^# /m).slice(1);
  return sections.flatMap((section): ForeignObject[] => {
    const end = section.indexOf("\n");
    const lines = section
      .slice(end + 1)
      .split("\n")
      .filter((line) => line.trim() !== "");
    switch (section.slice(0, end)) {
      case "rule":
        return lines.filter(isForeignRule).map((line) => ({ object: "rule", netns, text: tidy(line) }));
      case "route":
        return lines.filter((line) => isForeignRoute(line, nics)).map((line) => ({ object: "route", netns, text: tidy(line) }));
      case "neighbor":
        return lines.filter((line) => !/ proto zebra\b|^169\.254\.0\.1 /.test(line)).map((line) => onDevice("neighbor", netns, line));
      case "qdisc":
        return lines.filter((line) => !USUAL_QDISC.test(line) && names.has(deviceOf(line))).map((line) => onDevice("qdisc", netns, line));
      case "filter":
        return lines
          .filter((line) => / action (?:drop|shot)\b/.test(line) && names.has(deviceOf(line)))
          .map((line) => onDevice("filter", netns, line));
      case "nftables":
        return droppingRules(lines)
          .filter(({ about }) => netns === "router" || about.some((name) => isAmong(names, name)))
          .map((rule) => ({ object: "nftables", netns, text: rule.text }));
      default:
        return [];
    }
  });
}

/** Those of the kernel, of VRFs, and of FRR's policies. */
function isForeignRule(line: string): boolean {
  return (
    !/^(?:0:\s+from all lookup local|\d+:\s+from all lookup \[l3mdev-table\]|32766:\s+from all lookup main|32767:\s+from all lookup default)\s*(?:proto kernel)?\s*$/.test(
      line,
    ) && !/ proto zebra\b/.test(line)
  );
}

/** FRR's routes are its own; others may lead out of the NICs, as they did before these were moved. */
function isForeignRoute(line: string, nics: readonly string[]): boolean {
  if (/ proto (?:bgp|zebra|ospf|isis|rip|eigrp|babel|zstatic|1[89]\d)\b/.test(line)) return false;
  const device = deviceOf(line);
  return device === "" ? !/^(?:local|nexthop) /.test(line.trim()) : device !== "lound" && !nics.includes(device);
}

/** These drop nothing while the link keeps up, and `clsact` and `ingress` only hold filters. */
const USUAL_QDISC = /^qdisc (?:noqueue|noop|mq|mqprio|pfifo_fast|pfifo|bfifo|fq|fq_codel|fq_pie|codel|sfq|cake|clsact|ingress) /;

interface NftRule {
  readonly text: string;
  /** The interfaces that the rule or the hook of its chain names, as written: `host-*`. */
  readonly about: readonly string[];
}

/** The rules and policies that can end a packet, each with its table and chain. */
function droppingRules(lines: readonly string[]): NftRule[] {
  const found: NftRule[] = [];
  let [table, chain, hook] = ["", "", [] as string[]];
  for (const line of lines.map(tidy)) {
    const [, tableName] = /^table (.+) \{$/.exec(line) ?? [];
    const [, chainName] = /^chain (\S+) \{$/.exec(line) ?? [];
    if (tableName !== undefined) [table, chain] = [tableName, ""];
    else if (chainName !== undefined) [chain, hook] = [chainName, []];
    else if (line === "}") chain = "";
    else if (chain !== "" && line.startsWith("type ")) {
      hook = namesIn(line);
      if (/ policy drop;/.test(line)) found.push({ text: `${table} ${chain}: policy drop`, about: hook });
    } else if (chain !== "" && /(?:^| )(?:drop|reject|queue)\b/.test(line.replaceAll(/"[^"]*"/g, ""))) {
      found.push({ text: `${table} ${chain}: ${line}`, about: [...hook, ...namesIn(line)] });
    }
  }
  return found;
}

function namesIn(line: string): string[] {
  const devices = /devices = \{([^}]*)\}/.exec(line)?.[1]?.split(",") ?? [];
  return [...[...line.matchAll(/"([^"]+)"/g)].map(([, name = ""]) => name), ...devices.map((name) => name.trim().replaceAll('"', ""))];
}

function isAmong(names: ReadonlySet<string>, pattern: string): boolean {
  if (!pattern.endsWith("*")) return names.has(pattern);
  return [...names].some((name) => name.startsWith(pattern.slice(0, -1)));
}

/** What is switched at our ports in bridges of others: their owner may have meant it. */
function changedPorts(host: Links): ForeignObject[] {
  return [...host.values()].flatMap((link): ForeignObject[] => {
    const bridge = link.master === undefined ? undefined : host.get(link.master);
    if (!link.bridgePort || !bridge || linkOwnership(link) !== "created" || linkOwnership(bridge) !== "foreign") return [];
    const { flags, state } = link.bridgePort;
    const off = (["flood", "bcast_flood", "mcast_flood", "learning"] as const).filter((flag) => flags[flag] === false);
    const on = (["isolated", "guard", "root_block", "locked"] as const).filter((flag) => flags[flag]);
    const isStopped = bridge.up && link.up && !link.noCarrier && state !== "" && state !== "forwarding";
    const differs = [...off.map((flag) => `${flag} off`), ...on.map((flag) => `${flag} on`), ...(isStopped ? [`state ${state}`] : [])];
    return differs.map((text) => ({ object: "port", netns: "host", link: link.name, text: `${link.name} in ${bridge.name}: ${text}` }));
  });
}

function smallNics(router: Links, nics: readonly string[], required: number): ForeignObject[] {
  return nics.flatMap((nic): ForeignObject[] => {
    const { mtu = required } = router.get(nic) ?? {};
    return mtu < required ? [{ object: "mtu", netns: "router", link: nic, text: `${nic} mtu ${mtu}, the VNIs require ${required}` }] : [];
  });
}

function onDevice(object: ForeignObject["object"], netns: NetnsRole, line: string): ForeignObject {
  return { object, netns, link: deviceOf(line), text: tidy(line) };
}

function deviceOf(line: string): string {
  return / dev (\S+)/.exec(line)?.[1] ?? "";
}

const LONGEST_TEXT = 512;

function tidy(line: string): string {
  return line
    .replaceAll(/\s+/g, " ")
    .replace(/ refcnt \d+/, "")
    .trim()
    .slice(0, LONGEST_TEXT);
}
