import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { sweepWhenGone } from "../../lab/child.ts";

/** Shell: kills whatever runs in a network namespace and deletes it. What was just being started may enter it a moment later, hence the pause. */
export const REMOVE_NAMESPACE = `remove_namespace() {
  sleep 0.1
  for attempt in $(seq 100); do
    pids=$(ip netns pids "$1")
    [ -n "$pids" ] || break
    kill -9 $pids
    sleep 0.05
  done
  ip netns del "$1"
}`;

export interface TestNamespaces {
  readonly names: readonly string[];
  remove(): Promise<void>;
}

/** Network namespaces of one suite, their loopbacks up. They are gone when the suite has ended, however it ends. */
export function createNamespaces(count: number): TestNamespaces {
  const names = Array.from({ length: count }, () => `plt${randomBytes(4).toString("hex")}`);
  const remove = sweepWhenGone(`${REMOVE_NAMESPACE}\nfor name; do remove_namespace "$name"; done`, ...names);
  for (const name of names) {
    execFileSync("ip", ["netns", "add", name]);
    execFileSync("ip", ["-n", name, "link", "set", "lo", "up"]);
  }
  return { names, remove };
}

/** Runs lines of `ip` in a namespace; the first that fails throws. */
export function ip(namespace: string, ...lines: string[]): void {
  execFileSync("ip", ["-n", namespace, "-batch", "-"], {
    input: lines.map((line) => `${line}\n`).join(""),
    stdio: ["pipe", "ignore", "pipe"],
  });
}

/** What `ip -d -j` shows. */
export function ipJson(namespace: string, command: string): unknown {
  return JSON.parse(execFileSync("ip", ["-n", namespace, "-d", "-j", ...command.split(" ")], { encoding: "utf8" })) as unknown;
}
