import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { LAUNCHER } from "../support/command-line.ts";

/** What a bench runs: its processes, their network namespaces by name, and the directories that are theirs alone. */
interface Running {
  readonly processes: readonly string[];
  readonly namespaces: readonly string[];
  readonly directories: readonly string[];
}

const OWN_DIRECTORY = /\/(?:dev\/shm|run\/frr)\/pl[\w-]+/g;
const PATIENCE = { timeout: 240_000, interval: 50 };

// session-flap starts all there is: etcd, an API server, two FRRs in namespaces of their own, and an agent in its own process.
test.for([
  { signal: "SIGTERM", moment: "its FRR daemons start", isThen: ({ processes }: Running) => processes.includes("zebra"), code: 143 },
  { signal: "SIGINT", moment: "sessions flap", isThen: (_: Running, output: string) => output.includes("sessions are up"), code: 130 },
] as const)("a bench that gets $signal while $moment leaves nothing", async ({ signal, isThen, code }) => {
  const temporary = await mkdtemp(join(tmpdir(), "plumbline-bench-test-"));
  const mark = `PLUMBLINE_TEST_MARK=${randomUUID()}`;
  const bench = spawn(LAUNCHER, ["bench", "--tiny", "session-flap"], {
    env: { ...process.env, TMPDIR: temporary, ...Object.fromEntries([mark.split("=")]) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let output = "";
  bench.stderr.setEncoding("utf8").on("data", (text: string) => (output += text));
  const ended = once(bench, "exit");
  try {
    const before = await vi.waitFor(async () => {
      const running = await runningWith(mark);
      if (bench.exitCode !== null || !isThen(running, output)) throw new Error(output);
      return running;
    }, PATIENCE);
    expect(before.processes).toEqual(expect.arrayContaining(["kube"]));
    expect(before.namespaces.length).toBeGreaterThan(0);
    expect(before.directories.length).toBeGreaterThan(0);

    bench.kill(signal);
    expect(await ended).toEqual([code, null]);
    expect(output).toContain(`session-flap was interrupted by ${signal}`);
    await vi.waitFor(async () => {
      const left = {
        processes: (await runningWith(mark)).processes,
        namespaces: before.namespaces.filter((name) => existsSync(join("/run/netns", name))),
        directories: before.directories.filter(existsSync),
        temporary: await readdir(temporary),
      };
      expect(left).toEqual({ processes: [], namespaces: [], directories: [], temporary: [] });
    }, PATIENCE);
  } finally {
    bench.kill("SIGKILL");
    await rm(temporary, { recursive: true, force: true });
  }
});

/** All processes with this in their environment, whatever their parent is now. */
async function runningWith(mark: string): Promise<Running> {
  const processes: string[] = [];
  const directories = new Set<string>();
  const inodes = new Set<number>();
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const read = (file: string) => readFile(join("/proc", pid, file), "utf8").catch(() => "");
    if (!(await read("environ")).split("\0").includes(mark)) continue;
    processes.push((await read("comm")).trim());
    for (const [path] of (await read("cmdline")).matchAll(OWN_DIRECTORY)) directories.add(path);
    const { ino } = await stat(join("/proc", pid, "ns/net")).catch(() => ({ ino: 0 }));
    inodes.add(ino);
  }
  const namespaces: string[] = [];
  for (const name of await readdir("/run/netns").catch(() => [])) {
    const { ino } = await stat(join("/run/netns", name)).catch(() => ({ ino: -1 }));
    if (inodes.has(ino)) namespaces.push(name);
  }
  return { processes, namespaces, directories: [...directories] };
}
