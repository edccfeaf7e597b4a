import { readFile } from "node:fs/promises";
import { release } from "node:os";
import { join } from "node:path";
import type { RunOnNode } from "../support-bundle/run-on-node.ts";
import { runOnNode } from "../support-bundle/run-on-node.ts";
import { fail, type CheckFinding, ok, type EnabledComponents, warn } from "./finding.ts";

interface Feature {
  readonly name: string;
  /** Empty where it is built in. */
  readonly module: string;
  readonly command: readonly string[];
  /** An agent works without those marked `less`, with fewer features. */
  readonly requiredFor: "router" | "less";
  readonly gives: string;
  readonly costs: string;
}

const FEATURES: readonly Feature[] = [
  link("vrf", "vrf", ["table", "1001"], "VRFs work", "No VRF support: each L3VNI needs a VRF"),
  link("bridge", "bridge", [], "Bridges work", "No bridge support: each VNI needs a bridge"),
  link(
    "vxlan",
    "vxlan",
    ["id", "42", "dstport", "4789", "local", "192.0.2.1"],
    "VXLAN works",
    "No VXLAN support: each VNI needs a VXLAN tunnel",
  ),
  link("veth", "veth", ["peer", "name", "pldoctor1"], "veth pairs work", "No veth support: veth pairs connect the router and the host"),
  nftables("inet", "nf_tables_inet", "the node's own services can be reached under service addresses"),
  nftables("arp", "nf_tables_arp", "interfaces that are not selected answer ARP for service addresses"),
];

function link(name: string, module: string, args: readonly string[], gives: string, costs: string): Feature {
  const command = ["ip", "link", "add", "name", "pldoctor0", "type", name, ...args];
  return {
    name: `kernel ${name}`,
    module,
    command: ["sh", "-c", '"$@" && ip link del pldoctor0', "sh", ...command],
    requiredFor: "router",
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
    requiredFor: "less",
    gives: `Rules of family ${family} are possible`,
    costs: `Without nftables family ${family} ${costs}`,
  };
}

/** Creates each one in a temporary network namespace. Kernel modules that are loaded by it stay loaded. */
export async function tryKernel(run: RunOnNode, { router }: EnabledComponents): Promise<CheckFinding[]> {
  const tried = FEATURES.filter(({ requiredFor }) => router || requiredFor === "less");
  const inside: RunOnNode = (command) => run(["unshare", "--net", "--", ...command]);
  const outcomes = await runOnNode(
    inside,
    tried.map(({ command }) => command),
  );
  return tried.map((feature, at) => {
    const { code, stderr } = outcomes[at] ?? { code: -1, stderr: "" };
    if (code === 0) return ok(feature.name, feature.gives);
    const output = stderr.trim().split("\n")[0] ?? "";
    return lacking(feature, output === "" ? "" : ` (${output})`);
  });
}

/** Without root, only the kernel's configuration can be read. */
export async function readKernel({ router }: EnabledComponents, root = "/"): Promise<CheckFinding[]> {
  const directory = join(root, "lib/modules", release());
  const texts = await Promise.all(
    [join(root, "proc/modules"), join(directory, "modules.builtin"), join(directory, "modules.dep")].map(textOf),
  );
  const known = texts.join("\n");
  const wanted = FEATURES.filter(({ requiredFor }) => router || requiredFor === "less");
  return wanted.map((feature) => {
    const { name, module } = feature;
    if (new RegExp(`(^|/)${module}(\\.ko|\\s)`, "m").test(known))
      return ok(name, `The kernel has the module ${module}; not tried without root`);
    return warn(name, `Module ${module} not found; not tried without root`, "run it as root");
  });
}

function lacking({ name, module, requiredFor, costs }: Feature, detail: string): CheckFinding {
  const load = `modprobe ${module}, and where that fails install the kernel's package with all modules (linux-modules-extra)`;
  if (requiredFor === "less") return warn(name, `${costs}${detail}`, load);
  return fail(name, `${costs}${detail}`, `${load}; or disable the router: --router off`);
}

async function textOf(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}
