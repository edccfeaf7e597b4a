import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test, vi } from "vitest";
import { startTime } from "../lab/holder.ts";

const PATIENCE = { timeout: 50_000, interval: 50 };

/** Starts a shell script in a session of its own, as a lab in the background runs, with a parent that ends at once. */
const RUN = `
import { spawn } from "node:child_process";
import { endProcessesWithRun } from ${JSON.stringify(join(import.meta.dirname, "end-with-run.ts"))};
const [script, graceSeconds] = process.argv.slice(1);
endProcessesWithRun({ graceSeconds: Number(graceSeconds) });
const starter = spawn("sh", ["-c", 'setsid sh -c "$1" >&3 2>&3 & ', "sh", script], { stdio: ["ignore", "ignore", "inherit", "inherit"] });
starter.once("exit", () => process.stdout.write("left\\n"));
setInterval(() => {}, 60_000);
`;

interface Orphan {
  readonly runner: ReturnType<typeof spawn>;
  readonly pid: number;
  readonly isAlive: () => boolean;
  readonly lastLine: () => string;
}

async function orphan(script: string, { graceSeconds }: { graceSeconds: number }): Promise<Orphan> {
  const args = ["--disable-warning=ExperimentalWarning", "--input-type=module", "-e", RUN, "--", script, String(graceSeconds)];
  const runner = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit", "pipe"] });
  const lines = { orphan: [] as string[], runner: [] as string[] };
  const listen = (index: 1 | 3, to: string[]) =>
    createInterface({ input: runner.stdio[index] as NodeJS.ReadableStream }).on("line", (line) => to.push(line));
  listen(1, lines.runner);
  listen(3, lines.orphan);
  await vi.waitFor(() => expect([lines.runner.length, lines.orphan.length]).toEqual([1, 1]), PATIENCE);
  const pid = Number(lines.orphan[0]);
  const since = startTime(pid);
  expect(since).toBeDefined();
  return { runner, pid, isAlive: () => startTime(pid) === since, lastLine: () => lines.orphan.at(-1) ?? "" };
}

const FOREVER = "while :; do sleep 0.05; done";

test.for(["SIGINT", "SIGTERM", "SIGKILL"] as const)("background processes of a run get SIGTERM when the run gets %s", async (signal) => {
  const { runner, isAlive, lastLine } = await orphan(`trap 'echo told; exit' TERM; echo $$; ${FOREVER}`, { graceSeconds: 60 });
  const ended = once(runner, "exit");
  runner.kill(signal);
  await ended;
  await vi.waitFor(() => expect(isAlive()).toBe(false), PATIENCE);
  await vi.waitFor(() => expect(lastLine()).toBe("told"), PATIENCE);
});

test("a process that ignores SIGTERM is killed", async () => {
  const { runner, isAlive } = await orphan(`trap '' TERM; echo $$; ${FOREVER}`, { graceSeconds: 0 });
  runner.kill("SIGKILL");
  await vi.waitFor(() => expect(isAlive()).toBe(false), PATIENCE);
});

test("cleanup processes run until they are done", async () => {
  const sweeper = `sh -c 'trap "" TERM; echo $$; ${FOREVER}' sweeper`;
  const { runner, pid, isAlive } = await orphan(`${sweeper} & trap '' TERM; ${FOREVER}`, { graceSeconds: 0 });
  const own = sweepersOf(runner.pid ?? 0);
  expect(own).toHaveLength(1);
  try {
    runner.kill("SIGKILL");
    await vi.waitFor(() => expect(own.map(startTime)).toEqual([undefined]), PATIENCE);
    expect(isAlive()).toBe(true);
  } finally {
    process.kill(pid, "SIGKILL");
  }
});

function sweepersOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").map(Number);
  return children.filter((child) => readFileSync(`/proc/${child}/cmdline`, "utf8").includes("\0sweeper\0"));
}

test.for(["start", "test", "soak", "bench"] as const)(
  "npm's signals reach what `npm run %s` runs: no shell stands between",
  async (name) => {
    const { scripts } = JSON.parse(await readFile(join(import.meta.dirname, "../package.json"), "utf8")) as {
      scripts: Record<string, string>;
    };
    expect(scripts[name]).toMatch(/^exec \.\/plumbline /);
  },
);
