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

/**
 * Reads each, and writes only what differs. One line per key that is missing, was changed or cannot be written. The shell reads by itself: six processes cost
 * more than all else. A value that the kernel rejects ends the script.
 */
const SCRIPT = `
root=/proc/sys
[ ! -d ${WRITABLE}/net ] || root=${WRITABLE}
while [ $# -gt 0 ]; do
  file=$root/$1 value=
  if [ ! -e "$file" ]; then echo "missing $1"
  else
    read -r value <"$file"
    case "|$2|" in
      *"|$value|"*) ;;
      *) if ! { true >>"$file"; } 2>/dev/null; then echo "unwritable $1 $value"
         else printf '%s\\n' "\${2%%|*}" >"$file" && echo "changed $1" || exit 1
         fi ;;
    esac
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
  const shell = ["sh", "-c", SCRIPT, "sysctls", ...Object.entries(wanted).flat()];
  const [program = "", ...args] = namespace === undefined ? shell : ["nsenter", `--net=${join("/run/netns", namespace)}`, "--", ...shell];
  const { stdout } = await run(program, args, { signal, namespace });
  const lines = stdout.split("\n").map((line) => line.split(" "));
  const keys = (what: string) => lines.flatMap(([verb, key = ""]) => (verb === what ? [key] : []));
  const unwritable = lines.flatMap(([verb, key = "", value = ""]): [string, string][] => (verb === "unwritable" ? [[key, value]] : []));
  return { changed: keys("changed"), missing: keys("missing"), unwritable: new Map(unwritable) };
}
