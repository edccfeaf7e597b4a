import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { networkInterfaces, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, expect, test } from "vitest";
import { HOLDER_VARIABLE, holderId } from "../../lab/holder.ts";
import { MEMORY_ROOT } from "../../lab/leftovers.ts";
import { plumbline } from "../support/command-line.ts";

const HOLDER = join(import.meta.dirname, "fixtures/machine-holder.ts");

let runtime: string;
let children: ChildProcess[];

beforeEach(async () => {
  runtime = await mkdtemp(join(tmpdir(), "plumbline-lab-test-"));
  children = [];
});
afterEach(async () => {
  await Promise.all(children.map(kill));
  await lab("kube", "down");
  await rm(runtime, { recursive: true });
});

const lab = (...args: string[]) => plumbline(["lab", ...args], { XDG_RUNTIME_DIR: runtime });

function start(program: string, args: readonly string[], env: Record<string, string> = {}): ChildProcess {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, ...env } });
  children.push(child);
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

/** The id of a process that has ended. */
async function goneId(): Promise<string> {
  const child = start("sleep", ["600"]);
  const id = holderId(child.pid);
  await kill(child);
  return id;
}

/** No process is left that could remove the directory. */
function killWithSweeper(holder: number): void {
  const children = readFileSync(`/proc/${holder}/task/${holder}/children`, "utf8").trim().split(" ").map(Number);
  const sweepers = children.filter((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("\0sweeper\0"));
  expect(sweepers).toHaveLength(1);
  for (const pid of [...sweepers, holder]) process.kill(pid, "SIGKILL");
}

async function controlPlane(): Promise<{ pid: number; directory: string }> {
  const { stdout } = await lab("kube", "up", "--no-kwok");
  const { items } = JSON.parse((await lab("kube", "status", "-o", "json")).stdout) as { items: { pid: number }[] };
  const [running] = items;
  if (!running) throw new Error("nothing runs");
  return { pid: running.pid, directory: dirname(dirname(stdout.trim())) };
}

/** A machine that runs for as long as its holder does. */
async function machine(): Promise<{ holder: ChildProcess; directory: string; link: string }> {
  const holder = start(process.execPath, [HOLDER, "own"]);
  if (!holder.stdout) throw new Error("its standard output is a pipe");
  const [line] = (await once(createInterface({ input: holder.stdout }), "line")) as [string];
  return { holder, ...(JSON.parse(line) as { directory: string; link: string }) };
}

test("down removes the record of a control plane whose holder was killed, and says so", async () => {
  const { pid, directory } = await controlPlane();
  killWithSweeper(pid);
  expect(await lab("kube", "down")).toMatchObject({
    code: 0,
    stdout: "No control plane is running.\n",
    stderr: expect.stringMatching(/^Removed leftovers of labs that no longer run: .*plumbline-lab-kube-\d+\n$/) as string,
  });
  expect(existsSync(directory)).toBe(false);
  expect(await readdir(runtime)).toEqual([]);
});

test("up removes what the last one left, says so on standard error, and starts", async () => {
  const { pid, directory } = await controlPlane();
  killWithSweeper(pid);
  const up = await lab("kube", "up", "--no-kwok");
  expect(up).toMatchObject({ code: 0, stderr: expect.stringContaining("Removed leftovers of labs that no longer run: ") as string });
  expect(existsSync(up.stdout.trim())).toBe(true);
  expect(existsSync(directory)).toBe(false);
});

test("down removes a process, a link and a directory of a holder that is gone, and nothing of one that runs", async () => {
  const running = await machine();
  const gone = await goneId();
  const [ours, theirs, unnamed] = [
    `plumbline-lab-${gone}-abcdef`,
    `plumbline-lab-${holderId()}-${randomBytes(3).toString("hex")}`,
    `plumbline-lab-${randomBytes(3).toString("hex")}`,
  ].map((name) => join(MEMORY_ROOT, name)) as [string, string, string];
  for (const directory of [ours, theirs, unnamed]) await mkdir(join(directory, "etcd"), { recursive: true });
  const link = `plt${randomBytes(4).toString("hex")}`;
  execFileSync("ip", ["link", "add", link, "type", "bridge"]);
  execFileSync("ip", ["link", "set", link, "alias", `plumbline lab ${gone}`]);
  const orphan = start("sleep", ["600"], { [HOLDER_VARIABLE]: gone });
  const other = start("sleep", ["600"], { [HOLDER_VARIABLE]: holderId() });

  try {
    expect(await lab("down")).toMatchObject({ code: 0, stdout: "No lab is running.\n" });
    expect([existsSync(ours), existsSync(theirs), existsSync(unnamed)]).toEqual([false, true, true]);
    if (orphan.signalCode === null) await once(orphan, "exit");
    expect([orphan.signalCode, other.signalCode]).toEqual(["SIGKILL", null]);
    expect(execFileSync("ip", ["-br", "link"], { encoding: "utf8" })).not.toContain(link);
    expect([existsSync(running.directory), running.link in networkInterfaces(), running.holder.signalCode]).toEqual([true, true, null]);
  } finally {
    await Promise.all([theirs, unnamed].map((path) => rm(path, { recursive: true })));
  }
});

test("down leaves nothing of a machine whose holder was killed together with its sweeper", async () => {
  const { holder, directory, link } = await machine();
  if (holder.pid === undefined) throw new Error("it was not started");
  killWithSweeper(holder.pid);
  await kill(holder);
  await lab("down");
  expect(existsSync(directory)).toBe(false);
  expect(Object.keys(networkInterfaces())).not.toContain(link);
});

test("down removes the record of a lab that was killed while it started", async () => {
  const record = join(runtime, `plumbline-lab-${process.getuid?.()}`);
  const starter = lab("up", "--kernel", "own");
  const starting = join(record, "starting.json");
  while (!existsSync(starting) || readFileSync(starting, "utf8") === "") await new Promise((resolve) => setTimeout(resolve, 20));
  const { pid } = JSON.parse(readFileSync(starting, "utf8")) as { pid: number };
  process.kill(pid, "SIGKILL");
  expect(await starter).toMatchObject({ stderr: expect.stringContaining("The lab did not come up") as string });
  expect(await lab("down")).toMatchObject({ stderr: expect.stringContaining(record) as string });
  expect(await readdir(runtime)).toEqual([]);
});
