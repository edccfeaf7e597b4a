import { readFile } from "node:fs/promises";
import { release } from "node:os";
import { join } from "node:path";
import type { RunOnNode } from "../support-bundle/run-on-node.ts";
import { runAll } from "../support-bundle/run-on-node.ts";
import { fail, type Finding, ok, type Parts, warn } from "./finding.ts";

interface Feature {
  readonly name: string;
  /** Of the kernel, where it is not built in. */
  readonly module: string;
  readonly command: readonly string[];
  /** What goes without it; an agent goes without where it is only less. */
  readonly need: "router" | "less";
  readonly gives: string;
  readonly costs: string;
}

/** What the router makes of links, and what the load balancer guards its addresses with. */
const FEATURES: readonly Feature[] = [
  link("vrf", "vrf", ["table", "1001"], "VRFs can be made", "There are no VRFs, and each L3VNI is one"),
  link("bridge", "bridge", [], "Bridges can be made", "There are no bridges, and each VNI has one"),
  link(
    "vxlan",
    "vxlan",
    ["id", "42", "dstport", "4789", "local", "192.0.2.1"],
    "VXLAN can be made",
    "There is no VXLAN, the tunnel of each VNI",
  ),
  link(
    "veth",
    "veth",
    ["peer", "name", "pldoctor1"],
    "Pairs of veth can be made",
    "There are no veths, which join the router and the host",
  ),
  nftables("inet", "nf_tables_inet", "the node's own services can be reached under service addresses"),
  nftables("arp", "nf_tables_arp", "interfaces that are not selected answer ARP for service addresses"),
];

function link(name: string, module: string, words: readonly string[], gives: string, costs: string): Feature {
  const command = ["ip", "link", "add", "name", "pldoctor0", "type", name, ...words];
  return {
    name: `kernel ${name}`,
    module,
    command: ["sh", "-c", '"$@" && ip link del pldoctor0', "sh", ...command],
    need: "router",
    gives,
    costs,
  };
}

function nftables(family: string, module: string, costs: string): Feature {
  const command = ["nft", `table ${family} pldoctor { chain incoming { type filter hook input priority 0; }; }`];
  return {
    name: `nftables ${family}`,
    module,
    command,
    need: "less",
    gives: `Rules of family ${family} are possible`,
    costs: `Without nftables family ${family} ${costs}`,
  };
}

/** Really makes each in a network namespace that is gone with the attempt; modules that the kernel loads for it stay loaded. */
export async function tryKernel(run: RunOnNode, { router }: Parts): Promise<Finding[]> {
  const tried = FEATURES.filter(({ need }) => router || need === "less");
  const inside: RunOnNode = (command) => run(["unshare", "--net", "--", ...command]);
  const outcomes = await runAll(
    inside,
    tried.map(({ command }) => command),
  );
  return tried.map((feature, at) => {
    const { code, stderr } = outcomes[at] ?? { code: -1, stderr: "" };
    if (code === 0) return ok(feature.name, feature.gives);
    const words = stderr.trim().split("\n")[0] ?? "";
    return lacking(feature, words === "" ? "" : ` (${words})`);
  });
}

/** Without root there is only what is written about the kernel. */
export async function readKernel({ router }: Parts, root = "/"): Promise<Finding[]> {
  const directory = join(root, "lib/modules", release());
  const texts = await Promise.all(
    [join(root, "proc/modules"), join(directory, "modules.builtin"), join(directory, "modules.dep")].map(textOf),
  );
  const known = texts.join("\n");
  const wanted = FEATURES.filter(({ need }) => router || need === "less");
  return wanted.map((feature) => {
    const { name, module } = feature;
    if (new RegExp(`(^|/)${module}(\\.ko|\\s)`, "m").test(known))
      return ok(name, `The kernel has the module ${module}; not tried, because only root may`);
    return warn(name, `Not tried, because only root may, and there is no word of a module ${module}`, "run it as root");
  });
}

function lacking({ name, module, need, costs }: Feature, words: string): Finding {
  const load = `modprobe ${module}, and where that fails install the kernel's package with all modules (linux-modules-extra)`;
  if (need === "less") return warn(name, `${costs}${words}`, load);
  return fail(name, `${costs}${words}`, `${load}; or go without the router: --router off`);
}

async function textOf(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}
