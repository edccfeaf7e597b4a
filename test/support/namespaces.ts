import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";

export interface TestNamespaces {
  readonly names: readonly string[];
  remove(): Promise<void>;
}

/** Network namespaces of one suite, their loopbacks up. They are gone when the suite has ended, however it ends. */
export function createNamespaces(count: number): TestNamespaces {
  const names = Array.from({ length: count }, () => `plt${randomBytes(4).toString("hex")}`);
  // It reads to the end of our pipe, which comes even when we are killed.
  const sweeper = spawn(
    "sh",
    ["-c", 'trap "" INT TERM HUP; cat >/dev/null; for name; do ip netns del "$name"; done', "sweeper", ...names],
    {
      stdio: ["pipe", "ignore", "ignore"],
      detached: true,
    },
  );
  sweeper.unref();
  for (const name of names) {
    execFileSync("ip", ["netns", "add", name]);
    execFileSync("ip", ["-n", name, "link", "set", "lo", "up"]);
  }
  return {
    names,
    async remove() {
      sweeper.ref();
      const gone = once(sweeper, "exit");
      sweeper.stdin.end();
      await gone;
    },
  };
}

/** Runs lines of `ip` in a namespace; the first that fails throws. */
export function ip(namespace: string, ...lines: string[]): void {
  execFileSync("ip", ["-n", namespace, "-batch", "-"], {
    input: lines.map((line) => `${line}\n`).join(""),
    stdio: ["pipe", "ignore", "pipe"],
  });
}

/** What `ip -d -j` shows. */
export function shown(namespace: string, command: string): unknown {
  return JSON.parse(execFileSync("ip", ["-n", namespace, "-d", "-j", ...command.split(" ")], { encoding: "utf8" })) as unknown;
}
