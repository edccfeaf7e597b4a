import type { Content } from "./mask.ts";
import type { Missing } from "./manifest.ts";
import { type RunOnNode, runOnNode } from "./run-on-node.ts";

export interface NodePaths {
  readonly routerNetns: string;
  /** The network namespace that stands for the machine's own. */
  readonly hostNetns?: string | undefined;
  readonly frrRunDirectory: string;
  readonly lbFrrRunDirectory: string;
}

export interface NodeState {
  readonly files: readonly { readonly path: string; readonly content: Content }[];
  readonly missing: readonly Missing[];
}

interface NodeCommand {
  /** Without the extension, which depends on the output. */
  readonly path: string;
  readonly command: readonly string[];
}

/** By name of the file. */
const FRR_COMMANDS: Readonly<Record<string, string>> = {
  version: "show version",
  "running-config": "show running-config",
  "bgp-summary": "show bgp vrf all summary json",
  "bgp-neighbors": "show bgp vrf all neighbors json",
  "bgp-ipv4": "show bgp vrf all ipv4 unicast json",
  "bgp-ipv6": "show bgp vrf all ipv6 unicast json",
  "bgp-evpn": "show bgp l2vpn evpn json",
  "bgp-evpn-vni": "show bgp l2vpn evpn vni json",
  "evpn-vni": "show evpn vni json",
  "vrf-vni": "show vrf vni json",
  bfd: "show bfd peers json",
  interfaces: "show interface vrf all brief json",
  "routes-ipv4": "show ip route vrf all json",
  "routes-ipv6": "show ipv6 route vrf all json",
};

/** The sysctls for forwarding, ARP and neighbors. */
const SYSCTLS = `
cd /proc/sys/net && for file in ipv4/ip_forward ipv4/ip_nonlocal_bind ipv6/conf/all/forwarding ipv4/conf/*/rp_filter ipv4/conf/*/arp_ignore \
  ipv4/conf/*/arp_announce ipv4/conf/*/proxy_arp ipv4/conf/*/forwarding ipv6/conf/*/forwarding ipv6/conf/*/disable_ipv6 ipv4/tcp_l3mdev_accept \
  ipv4/udp_l3mdev_accept ipv4/vs/conntrack ipv4/neigh/default/gc_thresh3 ipv6/neigh/default/gc_thresh3; do
  if [ -r "$file" ]; then read -r value <"$file"; echo "net/$file = $value"; fi
done`;

/** The state of FRR and the kernel on one node. All commands are read-only; a failed one does not stop the others. */
export async function gatherNode(run: RunOnNode, paths: NodePaths): Promise<NodeState> {
  const { routerNetns, hostNetns, frrRunDirectory, lbFrrRunDirectory } = paths;
  const instances = [
    { path: "frr/router", directory: frrRunDirectory },
    { path: "frr/loadbalancer", directory: lbFrrRunDirectory },
  ];
  const [router, ...frrs] = await runOnNode(run, [
    ["test", "-e", `/run/netns/${routerNetns}`],
    ...instances.map(({ directory }) => ["test", "-e", `${directory}/zebra.vty`]),
  ]);
  const missing: Missing[] = [];
  const commands: NodeCommand[] = [{ path: "kernel/version", command: ["uname", "-a"] }, ...kernel("kernel/host", hostNetns)];
  if (router?.code === 0) commands.push(...kernel("kernel/router", routerNetns));
  else missing.push({ what: "kernel/router", why: `there is no network namespace ${routerNetns}: no router runs here` });
  for (const [at, { path, directory }] of instances.entries()) {
    if (frrs[at]?.code === 0) commands.push({ path, command: vtysh(directory) });
    else missing.push({ what: path, why: `no FRR answers in ${directory}` });
  }

  const answers = await runOnNode(
    run,
    commands.map(({ command }) => command),
  );
  const files = commands.flatMap(({ path, command }, at) => {
    const { code, stdout, stderr } = answers[at] ?? { code: -1, stdout: "", stderr: "" };
    if (code === 0) return path.startsWith("frr/") ? filesFromVtysh(path, stdout) : [fileOf(path, stdout)];
    missing.push({
      what: path,
      why: `${command.slice(0, 4).join(" ")}: ${stderr.trim() || stdout.trim() || `ended with ${code}`}`.slice(0, 500),
    });
    return [];
  });
  return { files, missing };
}

function kernel(path: string, netns: string | undefined): NodeCommand[] {
  const ip = netns === undefined ? ["ip"] : ["ip", "-n", netns];
  const inside = netns === undefined ? [] : ["nsenter", `--net=/run/netns/${netns}`, "--"];
  return [
    { path: `${path}/links`, command: [...ip, "-j", "-d", "-s", "link"] },
    { path: `${path}/addresses`, command: [...ip, "-j", "addr"] },
    { path: `${path}/routes-ipv4`, command: [...ip, "-j", "-4", "route", "show", "table", "all"] },
    { path: `${path}/routes-ipv6`, command: [...ip, "-j", "-6", "route", "show", "table", "all"] },
    { path: `${path}/rules`, command: [...ip, "-j", "rule"] },
    { path: `${path}/neighbors`, command: [...ip, "-j", "neigh"] },
    { path: `${path}/vrfs`, command: [...ip, "-j", "link", "show", "type", "vrf"] },
    { path: `${path}/nftables`, command: [...inside, "sh", "-c", NFT_TABLES] },
    { path: `${path}/sysctls`, command: [...inside, "sh", "-c", SYSCTLS] },
  ];
}

/** Our tables only. A machine without nftables has none. */
const NFT_TABLES = `
command -v nft >/dev/null || { echo "nft is not installed"; exit 0; }
nft list tables 2>/dev/null | while read -r _ family name; do
  if [ "$name" = plumbline ]; then nft list table "$family" "$name"; fi
done`;

/** One vtysh for all commands: it takes longer to start than to answer. `-E` prints each command before its output. */
function vtysh(directory: string): string[] {
  return ["vtysh", "--vty_socket", directory, "-E", ...Object.values(FRR_COMMANDS).flatMap((show) => ["-c", show])];
}

/** `node1# show version`, then its output. */
function filesFromVtysh(path: string, output: string): NodeState["files"] {
  const lines = output.split("\n");
  const at = new Map(lines.map((line, at) => [/^\S*[#>] (show .*)$/.exec(line)?.[1], at]));
  const sections = Object.entries(FRR_COMMANDS).map(([name, show]) => ({ name, begin: at.get(show) }));
  return sections.flatMap(({ name, begin }, index) => {
    if (begin === undefined) return [];
    const end = sections.slice(index + 1).find((next) => next.begin !== undefined)?.begin;
    return [fileOf(`${path}/${name}`, lines.slice(begin + 1, end).join("\n"))];
  });
}

function fileOf(path: string, answer: string): { path: string; content: Content } {
  const trimmed = answer.trim();
  // `ip -j` prints nothing for an empty list.
  if (/^[[{]/.test(trimmed)) {
    try {
      return { path: `${path}.json`, content: { json: JSON.parse(trimmed) as unknown } };
    } catch {
      // Some outputs of FRR are several JSON documents.
    }
  }
  return { path: `${path}.txt`, content: { text: answer } };
}
