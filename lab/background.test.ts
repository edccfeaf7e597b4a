import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { CliError, EXIT } from "../src/cli/shared/exit.ts";
import { Background } from "./background.ts";
import { startTime } from "./holder.ts";
import { type Progress, silent } from "./progress.ts";

const lab = new Background<{ url: string }>("lab", "lab");
let runtime: string;

beforeEach(async () => {
  runtime = await mkdtemp(join(tmpdir(), "plumbline-background-"));
  vi.stubEnv("XDG_RUNTIME_DIR", runtime);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(runtime, { recursive: true });
});

const directory = () => join(runtime, `plumbline-lab-${process.getuid?.()}`);
/** A program that reports as the background process of a lab does. */
const program = (body: string) => [
  process.execPath,
  "--disable-warning=ExperimentalWarning",
  "--input-type=module",
  "--eval",
  `import { reportToStarter } from ${JSON.stringify(join(import.meta.dirname, "start-report.ts"))};
import { Background } from ${JSON.stringify(join(import.meta.dirname, "background.ts"))};
import { cachedBuild } from ${JSON.stringify(join(import.meta.dirname, "cached-build.ts"))};
import { LabError } from ${JSON.stringify(join(import.meta.dirname, "error.ts"))};
const lab = new Background("lab", "lab");
await reportToStarter(async (progress, up) => {
  ${body}
}).catch(() => (process.exitCode = 3));`,
];

function recorder(): { progress: Progress; lines: string[] } {
  const lines: string[] = [];
  const push = (what: string) => (text?: string) => void lines.push(text === undefined ? what : `${what} ${text}`);
  return { progress: { step: push("step"), detail: push("detail"), done: push("done"), failed: push("failed") }, lines };
}

async function recordOf(pid: number): Promise<void> {
  await mkdir(directory(), { recursive: true });
  await writeFile(join(directory(), "running.json"), JSON.stringify({ pid, since: startTime(pid), url: "first" }));
}

test("of two labs that start at the same time the second is rejected, and the first stays recorded", async () => {
  const other = spawn("sleep", ["600"]);
  try {
    const { pid = 0 } = other;
    await recordOf(pid);
    await expect(lab.record({ url: "second" })).rejects.toThrow(`A lab is already running (pid ${pid})`);
    expect(await lab.find()).toMatchObject({ pid, url: "first" });
  } finally {
    other.kill();
  }
});

test("the record of a killed lab is replaced", async () => {
  const other = spawn("sleep", ["600"]);
  await recordOf(other.pid ?? 0);
  other.kill();
  await new Promise((resolve) => other.once("exit", resolve));
  const forget = await lab.record({ url: "second" });
  expect(await lab.find()).toMatchObject({ pid: process.pid, url: "second" });
  await forget();
  expect(await lab.find()).toBeUndefined();
});

describe("a start in the background", () => {
  test("passes on each step of a one-time build with its details and its end", async () => {
    const { progress, lines } = recorder();
    vi.stubEnv("XDG_CACHE_HOME", join(runtime, "cache"));
    const build = {
      name: "tool",
      title: "The tool",
      step: "Building the tool (once)",
      script: 'echo 1 of 2 files; echo "2 of 2 files"; mkdir "$1"',
      requirement: "it needs nothing",
    };
    const started = lab.start(
      program(`await cachedBuild(${JSON.stringify(build)}, progress);
  progress.step("Starting");
  const forget = await lab.record({ url: "here" });
  up();
  // A listener for a signal does not keep the process alive.
  const alive = setInterval(() => {}, 1_000);
  await new Promise((resolve) => process.once("SIGTERM", resolve));
  clearInterval(alive);
  await forget();`),
      progress,
    );
    const running = await started;
    expect(running.url).toBe("here");
    await lab.stop(running);
    expect(lines).toEqual([
      "step Building the tool (once)",
      "detail 1 of 2 files",
      "detail 2 of 2 files",
      expect.stringMatching(/^done The tool is ready after \d+ s$/),
      "step Starting",
      "done",
    ]);
  });

  test("that fails has the sentence and the exit code of that process, and leaves nothing", async () => {
    const { progress, lines } = recorder();
    const failed = program(`progress.step("Starting");
  process.stderr.write("a line of the log\\n");
  throw new LabError("NotStarted", "No tap device: load the kernel module tun");`);
    await expect(lab.start(failed, progress)).rejects.toEqual(new CliError("No tap device: load the kernel module tun", EXIT.unknown));
    expect(lines).toEqual(["step Starting", "failed"]);
    expect(await readdir(runtime)).toEqual([]);
  });

  test("that fails leaves the record of a lab that came up meanwhile", async () => {
    const other = spawn("sleep", ["600"]);
    try {
      const failed = lab.start(
        program(`while (!(await lab.find())) await new Promise((resolve) => setTimeout(resolve, 5));
  throw new LabError("NotStarted", "no");`),
        silent,
      );
      while (!existsSync(join(directory(), "starting.json"))) await new Promise((resolve) => setTimeout(resolve, 5));
      await recordOf(other.pid ?? 0);
      await expect(failed).rejects.toThrow("no");
      expect(await lab.find()).toMatchObject({ pid: other.pid });
      expect((await readdir(directory())).toSorted()).toEqual(["log", "running.json"]);
    } finally {
      other.kill();
    }
  });

  test("whose process is killed quotes its log, and leaves its record to the cleanup", async () => {
    const killed = program(
      `process.stderr.write("a line of the log\\n"); process.kill(process.pid, "SIGKILL"); await new Promise(() => {});`,
    );
    await expect(lab.start(killed, silent)).rejects.toThrow("The lab did not come up:\na line of the log");
    expect(await lab.removeStale()).toBe(directory());
    expect(await readdir(runtime)).toEqual([]);
  });
});
