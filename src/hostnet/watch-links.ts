import { spawn } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { KernelError } from "./error.ts";
import { keepRunning } from "../util/keep-running.ts";
import type { NetworkNamespaces } from "./namespaces.ts";

/** Marks service addresses: addresses have no alias, and their lifetimes are refreshed all the time. */
export const SERVICE_ADDRESS_METRIC = "26740";
const RENEWED = new RegExp(String.raw`^(?:\d+: .* metric ${SERVICE_ADDRESS_METRIC} .*|\s+valid_lft .*|)$`);

/** A chunk that ends in the middle of a line counts as a change. */
function isRefreshing(chunk: string): boolean {
  return chunk.endsWith("\n") && chunk.split("\n").every((text) => RENEWED.test(text));
}

const CHECK_EVERY_MS = 50;

const LINKS = ["link", "address"];
/** `netconf` tells of forwarding and rp_filter. The router's namespace is ours; in the host's, others may change all of this. */
const ROUTER_OBJECTS = [...LINKS, "netconf", "rule"];

/** Calls back when a link or an address changes in either namespace, or a setting or rule in the router's, and when a change may have been missed. */
export async function watchLinks(
  namespaces: NetworkNamespaces,
  ring: () => void,
  signal: AbortSignal,
  onRestart?: (cause: KernelError) => void,
): Promise<void> {
  const { host, router } = namespaces;
  await Promise.all([watchNamespace(host, ring, signal, onRestart), watchNamespace(router, ring, signal, onRestart, ROUTER_OBJECTS)]);
}

export async function watchNamespace(
  namespace: string | undefined,
  ring: () => void,
  signal: AbortSignal,
  onRestart?: (cause: KernelError) => void,
  objects = LINKS,
): Promise<void> {
  await keepRunning(() => monitor(namespace, objects, ring, signal), signal, onRestart);
}

/** Resolves with the reason when it has ended. */
async function monitor(
  namespace: string | undefined,
  objects: readonly string[],
  ring: () => void,
  signal: AbortSignal,
): Promise<KernelError> {
  const args = [...(namespace === undefined ? [] : ["-n", namespace]), "monitor", ...objects];
  // It writes only on changes, so it would not notice the end of this process.
  const child = spawn("setpriv", ["--pdeathsig", "KILL", "--", "ip", ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const { promise: ended, resolve } = Promise.withResolvers<string>();
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    if (!isRefreshing(chunk)) ring();
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
  child.once("error", (error) => resolve(error.message)).once("close", () => resolve(output.trim()));
  const kill = () => child.kill("SIGKILL");
  signal.addEventListener("abort", kill, { once: true });
  // The reconcile that this triggers finds earlier changes.
  const starting = setInterval(() => {
    if (child.pid === undefined || !isListening(child.pid)) return;
    clearInterval(starting);
    ring();
  }, CHECK_EVERY_MS);
  const last = await ended;
  clearInterval(starting);
  signal.removeEventListener("abort", kill);
  return new KernelError("Unreachable", last === "" ? "ip monitor ended" : last, {
    command: ["ip", ...args].join(" "),
    namespace: namespace ?? "",
  });
}

/** Whether its netlink socket has joined a group: the process does not say when it is ready. */
function isListening(pid: number): boolean {
  try {
    const sockets = new Set(readdirSync(`/proc/${pid}/fd`).map((descriptor) => linkOf(`/proc/${pid}/fd/${descriptor}`)));
    const [, ...rows] = readFileSync(`/proc/${pid}/net/netlink`, "utf8").trimEnd().split("\n");
    return rows.some((row) => {
      const [, , , groups = "", , , , , , inode = ""] = row.split(/\s+/);
      return Number.parseInt(groups, 16) !== 0 && sockets.has(`socket:[${inode}]`);
    });
  } catch {
    // It has ended, or not started.
    return false;
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}
