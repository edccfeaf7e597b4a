import { access, constants, readdir, readFile, stat, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { RunOnNode } from "../support-bundle/run-on-node.ts";
import { fail, type CheckFinding, ok, type EnabledComponents, warn } from "./finding.ts";

/** Their bits in /proc/self/status. */
const CAPABILITIES = { NET_ADMIN: 12, NET_RAW: 13, SYS_ADMIN: 21 } as const;
const ROOM = 64 * 1024 * 1024;

export function permissions(status: string, uid: number, { router }: EnabledComponents): CheckFinding {
  const about = "permissions";
  const required = ["NET_ADMIN", "NET_RAW", ...(router ? ["SYS_ADMIN" as const] : [])] as const;
  if (uid !== 0) {
    const message = "Not root: kernel features are read, not tried; an agent needs root";
    return warn(about, message, "run it as root: sudo plumbline doctor");
  }
  const effective = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? "0"}`);
  const missing = required.filter((name) => ((effective >> BigInt(CAPABILITIES[name])) & 1n) === 0n);
  if (missing.length === 0) return ok(about, `Root with ${required.join(", ")}`);
  const without = !router || missing.some((name) => name !== "SYS_ADMIN") ? "" : "; or disable the router: --router off";
  return fail(about, `Root without ${missing.join(" and ")}`, `give the container the capabilities ${required.join(", ")}${without}`);
}

/** Nothing is written: the installer may create it. */
export async function stateDirectory(directory: string): Promise<CheckFinding> {
  const about = `directory ${directory}`;
  let there = directory;
  while (!(await exists(there))) there = dirname(there);
  const keeps = "an agent keeps its state there";
  if (!(await stat(there)).isDirectory())
    return fail(about, `${there} is not a directory, and ${keeps}`, "move it away, or choose another with --state-directory");
  try {
    await access(there, constants.W_OK);
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code === "EROFS" ? "is on a read-only file system" : "cannot be written";
    return fail(about, `${there} ${why}, and ${keeps}`, "make it writable, or choose another with --state-directory");
  }
  const { bavail, bsize } = await statfs(there);
  if (bavail * bsize < ROOM) return warn(about, `Only ${Math.floor((bavail * bsize) / 1024 / 1024)} MiB left`, "free at least 64 MiB");
  return ok(about, there === directory ? "Writable" : "Can be created");
}

export async function settings(root = "/proc/sys"): Promise<CheckFinding[]> {
  const findings: CheckFinding[] = [];
  const strict = await linksWith(root, "rp_filter", "1");
  // The kernel uses the larger of a link's own value and that of `all`.
  if (strict.length > 0) {
    const message = `rp_filter is 1 (strict) on ${listed(strict)}: packets to Services that arrive there are dropped if the route back uses another interface`;
    findings.push(warn("rp_filter", message, "sysctl -w net.ipv4.conf.all.rp_filter=2, and persist it in /etc/sysctl.d"));
  } else findings.push(ok("rp_filter", "Reverse-path filtering is not strict"));
  if ((await valueOf(root, "net/ipv4/ip_forward")) === "0")
    findings.push(
      warn(
        "ip_forward",
        "ip_forward is 0: this node does not forward packets to Pods",
        "sysctl -w net.ipv4.ip_forward=1; kube-proxy and most CNIs do so themselves",
      ),
    );
  else findings.push(ok("ip_forward", "IP forwarding is on"));
  if (!(await exists(join(root, "net/ipv6"))))
    findings.push(
      warn(
        "ipv6",
        "IPv6 is disabled in this kernel: IPv6 addresses are not announced from here",
        "boot without ipv6.disable=1 if you need IPv6",
      ),
    );
  return findings;
}

/** kube-proxy answers on its own port which mode it has. */
export async function kubeProxy(modeOf: () => Promise<string | undefined>, root = "/"): Promise<CheckFinding> {
  const about = "kube-proxy";
  const mode = await modeOf();
  const ipvs = mode === "ipvs" || (await exists(join(root, "sys/class/net/kube-ipvs0")));
  if (!ipvs) return ok(about, mode === undefined ? "No kube-proxy answers on port 10249, and IPVS is not in use" : `Mode ${mode}`);
  const all = join(root, "proc/sys/net/ipv4/conf/all");
  if ((await textOf(join(all, "arp_ignore"))) === "1" && (await textOf(join(all, "arp_announce"))) === "2")
    return ok(about, "Mode ipvs with strictARP; packets to a service address that IPVS serves are not guarded by nftables");
  const message = "Mode ipvs without strictARP: every node answers ARP for every service address, so L2 announcements do not work";
  return warn(
    about,
    message,
    "set ipvs.strictARP: true in the ConfigMap kube-system/kube-proxy and restart kube-proxy; not needed with BGP only",
  );
}

/** From systemd, where it runs. */
export async function timeSync(run: RunOnNode): Promise<CheckFinding> {
  const about = "time";
  const { code, stdout } = await run(["timedatectl", "show", "--property=NTPSynchronized", "--value"]);
  if (code === 0 && stdout.trim() === "yes") return ok(about, "The clock is synchronized");
  if (code === 0 && stdout.trim() === "no")
    return warn(
      about,
      "The clock is not synchronized: times in statuses and Events may be wrong, and certificates may seem invalid",
      "run chrony or systemd-timesyncd",
    );
  return ok(about, "Cannot tell whether the clock is synchronized; see `api` for its offset from the server");
}

async function linksWith(root: string, setting: string, value: string): Promise<string[]> {
  const names = await readdir(join(root, "net/ipv4/conf")).catch(() => []);
  const all = Number(await valueOf(root, `net/ipv4/conf/all/${setting}`));
  const found: string[] = [];
  for (const name of names.filter((name) => !["all", "default", "lo"].includes(name))) {
    const own = Number(await valueOf(root, `net/ipv4/conf/${name}/${setting}`));
    if (String(Math.max(own, all)) === value) found.push(name);
  }
  return found;
}

function listed(names: readonly string[]): string {
  return names.length > 4 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", ");
}

function valueOf(root: string, path: string): Promise<string> {
  return textOf(join(root, path));
}

async function textOf(path: string): Promise<string> {
  return (await readFile(path, "utf8").catch(() => "")).trim();
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
