import { spawn } from "node:child_process";
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";

export interface FrrExecOptions {
  netns?: string;
  root?: string;
  /** Our directories that must exist under the same path below another root. */
  directories: readonly string[];
}

export interface ExecResult {
  readonly code: number | null;
  readonly output: string;
}

// In a separate mount namespace, so that nothing stays mounted below the root. What is unmounted outside disappears inside, too.
const ENTER_ROOT = `set -e
root=$1; shift
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
while [ "$1" != -- ]; do
  mkdir -p "$root$1"
  mount --bind "$1" "$root$1"
  shift
done
shift
exec chroot "$root" "$@"`;

/** Where the programs of FRR run: in a network namespace, and in another root directory if another FRR than the machine's is wanted. */
export class FrrExec {
  readonly #options: FrrExecOptions;

  constructor(options: FrrExecOptions) {
    this.#options = options;
  }

  /** The path of a file of the other root. */
  path(inside: string): string {
    return this.#options.root ? join(this.#options.root, inside) : inside;
  }

  #command(program: string, args: readonly string[]): [string, ...string[]] {
    const { netns, root, directories } = this.#options;
    const entered: [string, ...string[]] = root
      ? ["unshare", "--mount", "--propagation", "slave", "sh", "-c", ENTER_ROOT, "sh", root, ...directories, "--", program, ...args]
      : [program, ...args];
    return netns ? ["nsenter", `--net=/run/netns/${netns}`, ...entered] : entered;
  }

  async run(program: string, args: readonly string[], signal: AbortSignal): Promise<ExecResult> {
    let output = "";
    const code = await this.#ended(program, args, "pipe", signal, (text) => (output += text));
    return { code, output };
  }

  /** Output goes to a file: FRR 10's daemons keep an inherited pipe, and two pipes would mix up the order of output and errors. */
  async runIntoFile(program: string, args: readonly string[], outputFile: string, signal: AbortSignal): Promise<ExecResult> {
    const file = await open(outputFile, "w", 0o640);
    try {
      const code = await this.#ended(program, args, file.fd, signal);
      return { code, output: await readFile(outputFile, "utf8") };
    } finally {
      await file.close();
    }
  }

  #ended(
    program: string,
    args: readonly string[],
    output: "pipe" | number,
    signal: AbortSignal,
    read?: (text: string) => void,
  ): Promise<number | null> {
    const [command, ...rest] = this.#command(program, args);
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const child = spawn(command, rest, { stdio: ["ignore", output, output], signal });
      for (const stream of [child.stdout, child.stderr]) stream?.setEncoding("utf8").on("data", (text: string) => read?.(text));
      child.once("error", reject);
      child.once("close", resolve);
    });
  }

  /** The ids of `frr` and `frrvty`; they differ between roots. Undefined if FRR is not installed. */
  async accounts(): Promise<{ user: number; group: number; vtyGroup: number } | undefined> {
    const [passwd, groups] = await Promise.all([readFile(this.path("/etc/passwd"), "utf8"), readFile(this.path("/etc/group"), "utf8")]);
    const [, user, group] = /^frr:[^:]*:(\d+):(\d+):/m.exec(passwd) ?? [];
    const [, vtyGroup] = /^frrvty:[^:]*:(\d+):/m.exec(groups) ?? [];
    return user && group ? { user: Number(user), group: Number(group), vtyGroup: Number(vtyGroup ?? group) } : undefined;
  }
}
