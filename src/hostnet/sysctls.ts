import { join } from "node:path";
import { namespaceIdentity } from "./namespaces.ts";
import { run } from "./run.ts";

export interface SysctlOutcome {
  readonly changed: readonly string[];
  /** Not known to this kernel. */
  readonly missing: readonly string[];
}

/** Reads each, and writes only what differs. One line per key that is missing or was changed. The shell reads by itself: six processes cost more than all else. */
const SCRIPT = `
while [ $# -gt 0 ]; do
  file=/proc/sys/$1 value=
  if [ ! -e "$file" ]; then echo "missing $1"
  elif read -r value <"$file"; [ "$value" != "$2" ]; then printf '%s\\n' "$2" >"$file" && echo "changed $1" || exit 1
  fi
  shift 2
done`;

/** Nobody changes them by the way, as links are changed; and a look at them is a process. */
const CACHE_MS = 600_000;
const applied = new Map<string, { readonly namespace: string; readonly at: number; readonly missing: readonly string[] }>();

/** Settings of a namespace by their path, `net/ipv4/conf/all/forwarding`. Once they are as wanted they are looked at again after ten minutes. */
export async function setSysctls(
  wanted: Readonly<Record<string, string>>,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<SysctlOutcome> {
  const settings = Object.entries(wanted).flat();
  const key = [namespace, ...settings].join(" ");
  const identity = await namespaceIdentity(namespace);
  const known = applied.get(key);
  if (known?.namespace === identity && performance.now() - known.at < CACHE_MS) return { changed: [], missing: known.missing };

  const shell = ["sh", "-c", SCRIPT, "sysctls", ...settings];
  const [program = "", ...args] = namespace === undefined ? shell : ["nsenter", `--net=${join("/run/netns", namespace)}`, "--", ...shell];
  const { stdout } = await run(program, args, { signal, namespace });
  const lines = stdout.split("\n");
  const keys = (what: string) => lines.filter((line) => line.startsWith(what)).map((line) => line.slice(what.length + 1));
  const outcome = { changed: keys("changed"), missing: keys("missing") };
  applied.set(key, { namespace: identity, at: performance.now(), missing: outcome.missing });
  return outcome;
}
