import type { LabHost } from "../net/lab-host.ts";
import { ROUTER_NETNS } from "../net/topology.ts";

/** Where on a node something is changed: in its own namespace, in that of its router, or at the ToR in what concerns the node. */
export type Scope = "host" | "router" | "tor";

interface IpLink {
  readonly ifname: string;
  readonly flags: readonly string[];
  readonly mtu: number;
  readonly address?: string;
  readonly master?: string;
  readonly ifalias?: string;
  readonly linkinfo?: { readonly info_kind?: string };
}

interface IpAddresses {
  readonly ifname: string;
  readonly addr_info: readonly { readonly family: string; readonly local: string; readonly prefixlen: number }[];
}

interface IpNeighbor {
  readonly dst: string;
  readonly dev: string;
  readonly lladdr?: string;
  readonly state: readonly string[];
  readonly extern_learn?: null;
}

interface FdbEntry {
  readonly mac: string;
  readonly ifname: string;
  readonly dst?: string;
  readonly master?: string;
  readonly flags: readonly string[];
  readonly state: string;
}

/** What is there now, as `ip`, `bridge`, `nft`, `vtysh` and the kernel's files tell. */
export interface LiveState {
  readonly links: readonly IpLink[];
  /** Ports of bridges with their flags. */
  readonly ports: readonly (Readonly<Record<string, unknown>> & { readonly ifname: string })[];
  readonly addresses: readonly IpAddresses[];
  /** In `ip`'s own words, one line each, so that they can be given back to it. */
  readonly routes: readonly string[];
  readonly rules: readonly string[];
  readonly neighbors: readonly IpNeighbor[];
  readonly fdb: readonly FdbEntry[];
  /** Those that are small numbers: `net/ipv4/ip_forward` and its value. */
  readonly sysctls: ReadonlyMap<string, string>;
  readonly nft: string;
  /** FRR's running configuration. */
  readonly frr: string;
}

const VTYSH: Readonly<Record<Scope, string>> = { host: "vtysh -N plumbline-lb", router: "vtysh -N plumbline-router", tor: "vtysh" };

export const READ_KERNEL = `
echo '#links'; ip -j -d link
echo '#ports'; bridge -j -d link
echo '#addresses'; ip -j address
echo '#routes'; ip -o -4 route show table all
echo '#rules'; ip -o -4 rule
echo '#neighbors'; ip -j -4 neigh
echo '#fdb'; bridge -j fdb
echo '#nft'; nft -a list ruleset 2>/dev/null
echo '#sysctls'; cd /proc/sys; grep -rsH '^[012]$' net/ipv4 net/ipv6/conf net/bridge`;

export async function readState(host: LabHost, scope: Scope, signal: AbortSignal): Promise<LiveState> {
  const script = `${scope === "tor" ? "" : READ_KERNEL}\necho '#frr'; ${VTYSH[scope]} -c 'show running-config'`;
  const { stdout } = await runAt(host, scope, script, signal);
  return parseState(stdout);
}

/** Runs a script on a node, in the namespace of its router, or at the ToR. */
export function runAt(host: LabHost, scope: Scope, script: string, signal: AbortSignal): ReturnType<LabHost["run"]> {
  const enter = scope === "router" ? ["ip", "netns", "exec", ROUTER_NETNS] : [];
  return host.run([...enter, "sh", "-c", script], { signal });
}

export function vtysh(scope: Scope, lines: readonly string[]): string {
  return [VTYSH[scope], ...["configure terminal", ...lines].map((line) => `-c ${quoted(line)}`)].join(" ");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

export function parseState(text: string): LiveState {
  const sections = new Map(
    text.split(/^#(?=[a-z]+$)/m).map((section): [string, string] => {
      const end = section.indexOf("\n");
      return [section.slice(0, end), section.slice(end + 1)];
    }),
  );
  const list = <T>(name: string): T[] => {
    const json = (sections.get(name) ?? "").trim();
    return json === "" ? [] : (JSON.parse(json) as T[]).filter((one) => Object.keys(one as object).length > 0);
  };
  const lines = (name: string) =>
    (sections.get(name) ?? "").split("\n").flatMap((line) => (line.trim() === "" ? [] : [line.replaceAll("\\", " ").trim()]));
  return {
    links: list("links"),
    ports: list("ports"),
    addresses: list("addresses"),
    routes: lines("routes"),
    rules: lines("rules"),
    neighbors: list("neighbors"),
    fdb: list("fdb"),
    nft: sections.get("nft") ?? "",
    sysctls: new Map(
      lines("sysctls").map((line): [string, string] => [line.slice(0, line.lastIndexOf(":")), line.slice(line.lastIndexOf(":") + 1)]),
    ),
    frr: sections.get("frr") ?? "",
  };
}
