import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { accessFromKubeconfig } from "../../src/kube/client/access.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { plumbline } from "../support/command-line.ts";

let runtime: string;

beforeEach(async () => {
  runtime = await mkdtemp(join(tmpdir(), "plumbline-lab-test-"));
});
afterEach(async () => {
  await plumbline(["lab", "kube", "down"], { XDG_RUNTIME_DIR: runtime });
  await rm(runtime, { recursive: true });
});

const lab = (...args: string[]) => plumbline(["lab", "kube", ...args], { XDG_RUNTIME_DIR: runtime });

test("up prints the kubeconfig of a server that answers, a second up the same one, and down leaves nothing", async () => {
  const up = await lab("up", "--no-kwok");
  expect(up).toMatchObject({ code: 0, stderr: expect.stringContaining("Starting etcd") as string });
  const kubeconfig = up.stdout.trim();
  const client = new KubeClient(await accessFromKubeconfig({ path: kubeconfig }));
  const version = await client.request<{ gitVersion: string }>("GET", "/version", { signal: AbortSignal.timeout(10_000) });
  client.close();
  expect(version.gitVersion).toBe("v1.37.1");

  expect((await lab("up")).stdout.trim()).toBe(kubeconfig);
  const status = await lab("status", "-o", "json");
  const { items } = JSON.parse(status.stdout) as { items: { kubeconfig: string; parts: { name: string; pid: number }[] }[] };
  expect(items).toHaveLength(1);
  expect(items[0]?.parts.map(({ name }) => name)).toEqual(["kube-apiserver", "etcd", "kube-controller-manager", "kube-scheduler"]);

  expect(await lab("down")).toMatchObject({ code: 0, stdout: "The control plane is down.\n" });
  expect(items[0]?.parts.filter(({ pid }) => existsSync(`/proc/${pid}`))).toEqual([]);
  expect(existsSync(dirname(dirname(kubeconfig)))).toBe(false);
  expect(await readdir(runtime)).toEqual([]);
  expect(await lab("status")).toMatchObject({ code: 1 });
});

test("when the process that holds it is killed, its parts and its data go too", async () => {
  const { stdout } = await lab("up", "--no-kwok");
  const { items } = JSON.parse((await lab("status", "-o", "json")).stdout) as { items: { pid: number; parts: { pid: number }[] }[] };
  const [running] = items;
  if (!running) throw new Error("nothing runs");
  process.kill(running.pid, "SIGKILL");
  const left = () => [running.pid, ...running.parts.map(({ pid }) => pid)].filter((pid) => existsSync(`/proc/${pid}`));
  const data = dirname(dirname(stdout.trim()));
  while (left().length > 0 || existsSync(data)) await sleep(50);
  expect(await lab("status")).toMatchObject({ code: 1 });
});

test("in front it ends on SIGINT and leaves nothing", async () => {
  const held = spawn(join(import.meta.dirname, "../../plumbline"), ["lab", "kube", "up", "--foreground", "--no-kwok"], {
    env: { ...process.env, XDG_RUNTIME_DIR: runtime },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<number | null>((resolve) => held.once("exit", resolve));
  for await (const chunk of held.stdout) if (String(chunk).split("\n").includes("up")) break;
  held.kill("SIGINT");
  expect(await ended).toBe(0);
  expect(await readdir(runtime)).toEqual([]);
});
