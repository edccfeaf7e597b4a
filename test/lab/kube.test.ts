import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { KUBERNETES_VERSION, kubeBinaries, type Part } from "../../lab/kube/binary.ts";
import { silent } from "../../lab/progress.ts";
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

async function run(part: Part, args: readonly string[], input = ""): Promise<{ stdout: string }> {
  const command = (await kubeBinaries(silent)).command(part);
  if (!command) throw new Error(`there is no ${part}`);
  const [program, ...first] = command;
  const running = promisify(execFile)(program, [...first, ...args]);
  running.child.stdin?.end(input);
  return await running;
}

const kubectl = (kubeconfig: string, args: readonly string[], input?: string) =>
  run("kubectl", ["--kubeconfig", kubeconfig, ...args], input);
const lab = (...args: string[]) => plumbline(["lab", "kube", ...args], { XDG_RUNTIME_DIR: runtime });

test("up prints the kubeconfig of a server that answers, a second up the same one, and down leaves nothing", async () => {
  const up = await lab("up", "--no-kwok");
  expect(up).toMatchObject({ code: 0, stderr: expect.stringContaining("Starting etcd") as string });
  const kubeconfig = up.stdout.trim();
  const client = new KubeClient(await accessFromKubeconfig({ path: kubeconfig }));
  const version = await client.request<{ gitVersion: string }>("GET", "/version", { signal: AbortSignal.timeout(60_000) });
  client.close();
  expect(version.gitVersion).toBe(KUBERNETES_VERSION);

  expect((await lab("up")).stdout.trim()).toBe(kubeconfig);
  const status = await lab("status", "-o", "json");
  const { items } = JSON.parse(status.stdout) as { items: { kubeconfig: string; parts: { name: string; pid: number }[] }[] };
  expect(items).toHaveLength(1);
  expect(items[0]?.parts.map(({ name }) => name)).toEqual(["kube-apiserver", "etcd", "kube-controller-manager", "kube-scheduler"]);

  expect(await lab("down")).toMatchObject({ code: 0, stdout: "The control plane is stopped.\n" });
  expect(items[0]?.parts.filter(({ pid }) => existsSync(`/proc/${pid}`))).toEqual([]);
  expect(existsSync(dirname(dirname(kubeconfig)))).toBe(false);
  expect(await readdir(runtime)).toEqual([]);
  expect(await lab("status")).toMatchObject({ code: 1 });
});

test("kwok makes a Node ready, and what is scheduled onto it run", async () => {
  const { stdout } = await lab("up");
  const kubeconfig = stdout.trim();
  const manifests = [
    { apiVersion: "v1", kind: "Node", metadata: { name: "painted" } },
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "painted", namespace: "default" },
      spec: { containers: [{ name: "main", image: "none" }] },
    },
  ];
  await kubectl(kubeconfig, ["wait", "serviceaccount/default", "--for=create", "--timeout=60s"]);
  await kubectl(kubeconfig, ["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items: manifests }));
  await kubectl(kubeconfig, ["wait", "node/painted", "--for=condition=Ready", "--timeout=60s"]);
  const { stdout: output } = await kubectl(kubeconfig, ["wait", "pod/painted", "--for=jsonpath={.status.phase}=Running", "--timeout=60s"]);
  expect(output).toBe("pod/painted condition met\n");
});

test.each(["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy"] as const)(
  "%s is in the one binary, and says its version",
  async (part) => {
    const { stdout } = await run(part, ["--version"]);
    expect(stdout).toContain(part === "etcd" ? "etcd Version: 3." : `Kubernetes ${KUBERNETES_VERSION}`);
  },
);

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
  const child = spawn(join(import.meta.dirname, "../../plumbline"), ["lab", "kube", "up", "--foreground", "--no-kwok"], {
    env: { ...process.env, XDG_RUNTIME_DIR: runtime },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  for await (const chunk of child.stdout) if (String(chunk).includes("Press Ctrl-C to stop.")) break;
  child.kill("SIGINT");
  expect(await ended).toBe(0);
  expect(await readdir(runtime)).toEqual([]);
});
