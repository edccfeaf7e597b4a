import { existsSync } from "node:fs";
import { join } from "node:path";
import { run } from "./run.ts";

export interface SysctlOutcome {
  readonly changed: readonly string[];
  /** Not known to this kernel. */
  readonly missing: readonly string[];
  /** Differ and cannot be written. With the value that they have. */
  readonly unwritable: ReadonlyMap<string, string>;
}

/** Where the chart mounts the node's `/proc/sys/net`: `/proc/sys` is read-only in a container. Both show the namespace of the process that opens a file. */
const WRITABLE = "/run/plumbline/sys";

/** A shell would read byte by byte, and the kernel gives only the first. */
const READ = `grep -Hs "" "$@" || :`;
/** One line per setting that was written or cannot be. A value that the kernel rejects ends the script. */
const WRITE = `
while [ $# -gt 0 ]; do
  if ! { true >>"$1"; } 2>/dev/null; then echo "unwritable $1"
  else printf '%s\\n' "$2" >"$1" && echo "changed $1" || exit 1
  fi
  shift 2
done`;

/**
 * Settings of a namespace by their path, `net/ipv4/conf/all/forwarding`. `0|2` accepts both, and writes the first where there is another. They are read each
 * time: nothing tells when somebody changes one.
 */
export async function setSysctls(
  wanted: Readonly<Record<string, string>>,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<SysctlOutcome> {
  const root = existsSync(join(WRITABLE, "net")) ? WRITABLE : "/proc/sys";
  const entry = namespace === undefined ? [] : ["nsenter", `--net=${join("/run/netns", namespace)}`, "--"];
  const shell = async (script: string, args: readonly string[]) => {
    const [program = "", ...rest] = [...entry, "sh", "-c", script, "sysctls", ...args];
    return (await run(program, rest, { signal, namespace })).stdout.split("\n");
  };
  const paths = Object.keys(wanted).map((key) => join(root, key));
  const have = new Map<string, string>();
  for (const line of await shell(READ, paths)) {
    const colon = line.lastIndexOf(":");
    if (colon > 0) have.set(line.slice(root.length + 1, colon), line.slice(colon + 1));
  }
  const differing = differingSysctls(wanted, have);
  const written =
    differing.size === 0
      ? []
      : await shell(
          WRITE,
          [...differing].flatMap(([key, value]) => [join(root, key), value]),
        );
  const keys = (verb: string) =>
    written.flatMap((line) => (line.startsWith(`${verb} `) ? [line.slice(verb.length + root.length + 2)] : []));
  return {
    changed: keys("changed"),
    missing: Object.keys(wanted).filter((key) => !have.has(key)),
    unwritable: new Map(keys("unwritable").map((key) => [key, have.get(key) ?? ""])),
  };
}

/** The value to write for each that has none of those that are accepted. */
export function differingSysctls(wanted: Readonly<Record<string, string>>, have: ReadonlyMap<string, string>): Map<string, string> {
  const differing = Object.entries(wanted).flatMap(([key, accepted]): [string, string][] => {
    const values = accepted.split("|");
    const value = have.get(key);
    return value === undefined || values.includes(value) ? [] : [[key, values[0] ?? ""]];
  });
  return new Map(differing);
}
