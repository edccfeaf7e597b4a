import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { networkInterfaces, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cacheDirectory } from "../../src/util/cache-directory.ts";
import { memoryDirectory } from "../../lab/kube/etcd.ts";
import { Machine } from "../../lab/machine/machine.ts";
import { startMachine, type StartedMachine } from "../../lab/machine/start.ts";
import { silent } from "../../lab/progress.ts";

const HOLDER = join(import.meta.dirname, "fixtures/machine-holder.ts");

describe.each(["own", "uml"])("a machine on the kernel %s", (kernel) => {
  let started: StartedMachine;
  let directory: { path: string; remove(): Promise<void> };
  let machine: Machine;

  beforeAll(async () => {
    directory = await memoryDirectory("lab");
    started = await startMachine({ directory: directory.path, use: kernel, features: [], progress: silent });
    machine = started.machine;
  });
  afterAll(async () => {
    await started.stop();
    await directory.remove();
  });

  test("runs a command with its input, and tells its output, errors and exit code", async () => {
    expect(await machine.run(["sh", "-c", "cat; echo bad >&2; exit 3"], { input: "in" })).toEqual({
      code: 3,
      stdout: "in",
      stderr: "bad\n",
    });
    const big = "0123456789".repeat(100_000);
    expect((await machine.run(["cat"], { input: big })).stdout).toBe(big);
    await expect(machine.do(["false"])).rejects.toMatchObject({ code: "CommandFailed" });
    await expect(machine.run(["no-such-program"])).rejects.toMatchObject({ code: "CommandFailed" });
  });

  test("reaches its parent, and writes only to private files", async () => {
    await machine.do(["ping", "-c1", "-W5", started.network.outside]);
    await machine.do(["sh", "-c", "echo x >/run/plumbline-test; echo y >/var/lib/plumbline-test; echo z >/tmp/plumbline-test"]);
    expect(["/run", "/var/lib", "/tmp"].filter((path) => existsSync(join(path, "plumbline-test")))).toEqual([]);
    await machine.do(["sh", "-c", `echo shared >'${directory.path}/seen'`]);
    expect(await readFile(join(directory.path, "seen"), "utf8")).toBe("shared\n");
  });

  test("a process ends with its parent, and so do its children", async () => {
    const process = machine.start(["sh", "-c", "sleep 1111 & echo started; wait"]);
    await new Promise<void>((resolve) => (process.onOutput = () => resolve()));
    // What the shell says may come before what it started has taken its name.
    await expect.poll(async () => (await machine.run(["pgrep", "-f", "^sleep 1111"])).code, { timeout: 60_000 }).toBe(0);
    await process.kill();
    while ((await machine.run(["pgrep", "-f", "^sleep 1111"])).code === 0) await sleep(50);
  });

  test("requests without its token are rejected", async () => {
    const stranger = new Machine({ ...machine.access, token: "guessed" });
    await expect(stranger.run(["true"])).rejects.toMatchObject({ code: "Unreachable" });
  });

  test("nothing is left when its starter is killed", async () => {
    const home = await mkdtemp(join(tmpdir(), "plumbline-home-"));
    const env = { ...process.env, HOME: home, XDG_CACHE_HOME: dirname(cacheDirectory()) };
    const holder = spawn(process.execPath, [HOLDER, kernel], { stdio: ["ignore", "pipe", "inherit"], env });
    const [line] = (await once(createInterface({ input: holder.stdout }), "line")) as [string];
    const { directory: kept, link } = JSON.parse(line) as { directory: string; link: string };
    expect(Object.keys(networkInterfaces())).toContain(link);
    holder.kill("SIGKILL");
    while (existsSync(kept) || Object.keys(networkInterfaces()).includes(link)) await sleep(50);
    expect(await readdir(home)).toEqual([]);
    await rm(home, { recursive: true });
  });
});

test("a network that another lab has just taken is left to it", async () => {
  // As another lab has them in the moment before they have their addresses.
  const links = Array.from({ length: 240 }, (_, third) => `pl-lab-${third}`).filter(
    (link) => !Object.keys(networkInterfaces()).includes(link),
  );
  const ip = (line: (link: string) => string) =>
    execFileSync("ip", ["-batch", "-"], { input: links.map((link) => `${line(link)}\n`).join("") });
  ip((link) => `link add ${link} type bridge`);
  const directory = await memoryDirectory("lab");
  try {
    const started = await startMachine({ directory: directory.path, use: "own", features: [], progress: silent });
    expect(links).not.toContain(started.network.linkName);
    await started.machine.do(["ping", "-c1", "-W5", started.network.outside]);
    await started.stop();
  } finally {
    ip((link) => `link del ${link}`);
    await directory.remove();
  }
});
