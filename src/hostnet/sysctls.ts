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

/** Settings of a namespace by their path, `net/ipv4/conf/all/forwarding`. */
export async function setSysctls(
  wanted: Readonly<Record<string, string>>,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<SysctlOutcome> {
  const shell = ["sh", "-c", SCRIPT, "sysctls", ...Object.entries(wanted).flat()];
  const [program = "", ...args] = namespace === undefined ? shell : ["nsenter", `--net=/run/netns/${namespace}`, "--", ...shell];
  const { stdout } = await run(program, args, { signal, namespace });
  const lines = stdout.split("\n");
  const keys = (what: string) => lines.filter((line) => line.startsWith(what)).map((line) => line.slice(what.length + 1));
  return { changed: keys("changed"), missing: keys("missing") };
}
