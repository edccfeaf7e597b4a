import { deepEqual, equal } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import * as fc from "fast-check";
import { LinkApplier } from "../../src/hostnet/apply.ts";
import type { NetnsRole, DesiredLink } from "../../src/hostnet/desired-link.ts";
import { ip, ipJson } from "../support/namespaces.ts";
import { meddlings } from "./states.ts";

interface PrintedLink {
  ifindex: number;
  ifname: string;
  ifalias?: string;
  flags: string[];
  mtu: number;
  address: string;
  master?: string;
  link?: string;
  link_index?: number;
  inet6_addr_gen_mode: string;
  linkinfo?: { info_kind?: string; info_data?: Record<string, unknown>; info_slave_data?: Record<string, unknown> };
  addr_info: { local: string; prefixlen: number; scope: string }[];
}

export interface Namespaces {
  readonly host: string;
  readonly router: string;
}

interface Course {
  readonly seed: number;
  readonly numRuns: number;
}

/**
 * From one state to the next, with a person's meddling in between: what the kernel has then is what was wanted, nothing is left to do, and what is not ours
 * is as before.
 */
export async function checkTransitions(namespaces: Namespaces, states: fc.Arbitrary<DesiredLink[]>, course: Course): Promise<void> {
  const signal = new AbortController().signal;
  addForeign(namespaces);
  const untouched = foreign(readKernel(namespaces));
  let last: DesiredLink[] = [];
  const property = fc.asyncProperty(states, meddlings, async (want, meddling) => {
    for (const { at, how } of meddling) {
      const link = last[at % Math.max(1, last.length)];
      // Not everything can be done to every link, nor to one that the last meddling deleted.
      if (link) tryIp(namespaces[link.netns], how.replace("NAME", link.name));
    }
    {
      await using pass = await LinkApplier.open(namespaces, signal);
      const kept = new Set(named(want));
      const removed = await pass.remove(last.filter(({ netns, name }) => !kept.has(`${netns}/${name}`)));
      equal(removed.rejected, undefined);
      const outcome = await pass.apply(want);
      last = want;
      equal(outcome.rejected, undefined);
      deepEqual(await pass.apply(want), { changed: 0 });
    }
    const kernel = readKernel(namespaces);
    for (const link of want) deepEqual(found(link, kernel), wanted(link));
    deepEqual(ours(kernel).toSorted(), named(want));
    await using again = await LinkApplier.open(namespaces, signal);
    deepEqual(await again.apply(want), { changed: 0 });
  });
  await fc.assert(property, { ...course, endOnFailure: true });
  {
    await using pass = await LinkApplier.open(namespaces, signal);
    await pass.remove(last);
  }
  deepEqual(ours(readKernel(namespaces)), []);
  deepEqual(foreign(readKernel(namespaces)), untouched);
}

function addForeign({ host, router }: Namespaces): void {
  for (const name of [host, router]) {
    ip(
      name,
      "link add foreign-br address 02:00:00:00:00:99 type bridge",
      // Otherwise it gets another address when a foreign port comes up.
      "link set foreign-br addrgenmode none",
      "link add foreign-a type veth peer name foreign-b",
      "link set foreign-a master foreign-br",
      "link set foreign-a alias storage",
      "link set foreign-br up",
      "addr add 172.31.0.1/24 dev foreign-br",
      "link add vni900 type vxlan id 900 dstport 4789 local 172.31.0.1 nolearning",
    );
  }
}

type Kernel = Readonly<Record<NetnsRole, readonly PrintedLink[]>>;

/** Everything, by one look at each namespace. */
function readKernel(namespaces: Namespaces): Kernel {
  const [host = [], router = []] = [namespaces.host, namespaces.router].map((name) => {
    const modes = new Map((ipJson(name, "link") as PrintedLink[]).map((link) => [link.ifname, link.inet6_addr_gen_mode]));
    const links = ipJson(name, "addr") as PrintedLink[];
    for (const link of links) link.inet6_addr_gen_mode = modes.get(link.ifname) ?? "";
    return links;
  });
  return { host, router };
}

const isForeign = ({ ifname }: PrintedLink) => /^(?:foreign|vni900|lo$)/.test(ifname);

/** Without the fields that change with a foreign port. */
function foreign({ host, router }: Kernel): unknown {
  return [...host, ...router].filter(isForeign).map(({ ifindex, ifname, ifalias, master, mtu, address, flags, linkinfo, addr_info }) => {
    const addresses = addr_info.map(({ local, prefixlen }) => `${local}/${prefixlen}`);
    const type = linkinfo?.info_kind === "vxlan" ? linkinfo : linkinfo?.info_kind;
    return { ifindex, ifname, ifalias, master, mtu, address, type, addresses, up: flags.includes("UP") };
  });
}

/** What the kernel has, in the words of what was wanted. */
function found(want: DesiredLink, kernel: Kernel): unknown {
  const link = kernel[want.netns].find(({ ifname }) => ifname === want.name);
  if (!link) return undefined;
  const { info_kind: type, info_data = {}, info_slave_data: port } = link.linkinfo ?? {};
  const addresses = link.addr_info.filter(
    ({ scope, local }) => want.addrGenMode === "none" || scope !== "link" || !local.startsWith("fe80"),
  );
  return {
    netns: want.netns,
    name: link.ifname,
    type,
    owner: link.ifalias?.replace(/^plumbline:/, ""),
    up: link.flags.includes("UP"),
    addresses: addresses.map(({ local, prefixlen }) => `${local}/${prefixlen}`).toSorted(),
    ...(link.master !== undefined && { master: link.master }),
    ...(want.mac !== undefined && { mac: link.address }),
    ...(want.mtu !== undefined && { mtu: link.mtu }),
    ...(want.addrGenMode !== undefined && { addrGenMode: link.inet6_addr_gen_mode }),
    ...(type === "vxlan" && {
      vni: info_data["id"],
      port: info_data["port"],
      local: info_data["local"] ?? info_data["local6"],
      device: info_data["link"],
    }),
    ...(type === "vxlan" && { learns: info_data["learning"] }),
    ...(type === "vxlan" && link.master !== undefined && { suppresses: port?.["neigh_suppress"], portLearns: port?.["learning"] }),
    ...(type === "vrf" && { tableIsItsOwn: hasOwnTable(link, kernel[want.netns]) }),
    ...(type === "veth" && { peer: peerOf(want.netns, link, kernel) }),
  };
}

function peerOf(role: NetnsRole, { link, link_index, ifindex }: PrintedLink, kernel: Kernel): { netns: NetnsRole; name: string } {
  if (link !== undefined) return { netns: role, name: link };
  const other = role === "host" ? "router" : "host";
  const peer = kernel[other].find((candidate) => candidate.ifindex === link_index && candidate.link_index === ifindex);
  return { netns: other, name: peer?.ifname ?? "?" };
}

function hasOwnTable(vrf: PrintedLink, links: readonly PrintedLink[]): boolean {
  const table = tableOf(vrf);
  return typeof table === "number" && (table < 253 || table > 255) && links.filter((link) => tableOf(link) === table).length === 1;
}

function tableOf({ linkinfo }: PrintedLink): unknown {
  return linkinfo?.info_kind === "vrf" ? linkinfo.info_data?.["table"] : undefined;
}

function wanted(want: DesiredLink): unknown {
  return {
    ...want,
    up: true,
    addresses: (want.addresses ?? []).toSorted(),
    ...(want.type === "vrf" && { tableIsItsOwn: true }),
    ...(want.type === "vxlan" && { learns: false }),
    ...(want.type === "vxlan" && want.master !== undefined && { suppresses: true, portLearns: false }),
  };
}

function ours(kernel: Kernel): string[] {
  const links = [...kernel.host.map((link) => ["host", link] as const), ...kernel.router.map((link) => ["router", link] as const)];
  return links.filter(([, link]) => !isForeign(link)).map(([netns, { ifname }]) => `${netns}/${ifname}`);
}

const named = (links: readonly DesiredLink[]) => links.map(({ netns, name }) => `${netns}/${name}`).toSorted();

function tryIp(namespace: string, command: string): void {
  try {
    execFileSync("ip", ["-n", namespace, ...command.split(" ")], { stdio: "ignore" });
  } catch {}
}
