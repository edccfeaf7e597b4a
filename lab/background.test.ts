import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Background } from "./background.ts";
import { startTime } from "./holder.ts";

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

async function recordOf(pid: number): Promise<void> {
  const directory = join(runtime, `plumbline-lab-${process.getuid?.()}`);
  await mkdir(directory);
  await writeFile(join(directory, "running.json"), JSON.stringify({ pid, since: startTime(pid), url: "first" }));
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
