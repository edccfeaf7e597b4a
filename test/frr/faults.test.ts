import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { daemonsOf } from "../../src/frr/daemons.ts";
import { FrrInstance } from "../../src/frr/instance.ts";
import { sessions } from "../../src/frr/show.ts";
import { createLog } from "../../src/kube/log.ts";
import { FRR_RELEASES, frrInNamespace, type FrrInNamespace } from "../support/frr.ts";

const signal = AbortSignal.timeout(10 * 60_000);
const patient = { timeout: 60_000, interval: 50 };
const BOOT_FILE = `ip route 203.0.113.0/24 blackhole
vrf red
 vni 200
exit-vrf
bfd
 profile fast
  receive-interval 100
 exit
exit
router bgp 64512
 neighbor 192.0.2.2 remote-as 64513
exit
`;

async function pidOf(frr: FrrInNamespace, daemon: string): Promise<number> {
  return Number(await readFile(join(frr.instance.runDirectory, `${daemon}.pid`), "utf8"));
}

/** When a process began, in ticks since the machine did. */
async function startOf(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8");
  return Number(text.slice(text.lastIndexOf(")") + 2).split(" ")[19]);
}

describe.each(FRR_RELEASES)("with FRR %s", (version) => {
  let frr: FrrInNamespace;
  beforeAll(async () => {
    frr = await frrInNamespace({ version, deadlineMs: 500 });
  });
  afterAll(() => frr.stop());

  test("a daemon that hangs causes a Timeout, and answers again when it continues", async () => {
    const { router } = frr.instance;
    const vty = await router.vty("bgpd", signal);
    const pid = await pidOf(frr, "bgpd");
    process.kill(pid, "SIGSTOP");
    try {
      await expect(vty.run("show version", signal)).rejects.toMatchObject({ code: "Timeout" });
      await expect(sessions(router, signal)).rejects.toMatchObject({ name: "VtyError", code: "Timeout", daemon: "bgpd" });
    } finally {
      process.kill(pid, "SIGCONT");
    }
    await vi.waitFor(async () => expect(await sessions(router, signal)).toEqual([]), patient);
  });

  test("a daemon that dies is Unreachable, and has another identity after a restart", async () => {
    const { router } = frr.instance;
    const vty = await router.vty("bgpd", signal);
    const before = await router.identity("bgpd");
    process.kill(await pidOf(frr, "bgpd"), "SIGKILL");
    await vi.waitFor(() => expect(vty.open).toBe(false), patient);
    await expect(sessions(router, signal)).rejects.toMatchObject({ code: "Unreachable", daemon: "bgpd" });
    await frr.instance.start(signal);
    expect(await sessions(router, signal)).toEqual([]);
    expect(await router.identity("bgpd")).not.toBe(before);
  });

  test("only root and group frrvty can access the sockets", async () => {
    const directory = await stat(frr.instance.runDirectory);
    expect(directory.mode & 0o777).toBe(0o750);
    for (const daemon of await frr.instance.router.daemons()) {
      const socket = await stat(join(frr.instance.runDirectory, `${daemon}.vty`));
      expect(socket.mode & 0o777).toBe(0o770);
      expect(socket.gid).toBe(directory.gid);
    }
  });
});

describe.each(FRR_RELEASES)("supervision of FRR %s", (version) => {
  const restarted: string[] = [];
  const end = new AbortController();
  let frr: FrrInNamespace;
  let supervising: Promise<void>;
  let complete: Record<string, string>;

  const configuration = async () => {
    const { router } = frr.instance;
    return Object.fromEntries(
      await Promise.all((await router.daemons()).map(async (daemon) => [daemon, await router.runningConfig(daemon, signal)] as const)),
    );
  };

  beforeAll(async () => {
    frr = await frrInNamespace({ version, onRestart: (daemon, cause) => restarted.push(`${daemon} ${cause}`) });
    await writeFile(frr.instance.bootFile, BOOT_FILE);
    await frr.instance.stop();
    await frr.instance.start(signal);
    complete = await configuration();
    supervising = frr.instance.supervise(end.signal);
  });
  afterAll(async () => {
    end.abort();
    await supervising;
    await frr.stop();
  });

  test("daemons start with the boot file", () => {
    const all = Object.values(complete).join("\n");
    for (const line of ["ip route 203.0.113.0/24 blackhole", " vni 200", "  receive-interval 100", " neighbor 192.0.2.2 remote-as 64513"]) {
      expect(all).toContain(`\n${line}\n`);
    }
  });

  test.each(daemonsOf({ major: version === "10" ? 10 : 8 }))("%s is restarted with its configuration when it is killed", async (daemon) => {
    restarted.length = 0;
    const others = (await frr.instance.router.daemons()).filter((name) => name !== daemon);
    const before = await Promise.all(others.map((name) => pidOf(frr, name)));
    process.kill(await pidOf(frr, daemon), "SIGKILL");
    await vi.waitFor(() => expect(restarted).toEqual([`${daemon} dead`]), patient);
    await vi.waitFor(async () => expect(await configuration()).toEqual(complete), patient);
    expect(await Promise.all(others.map((name) => pidOf(frr, name)))).toEqual(before);
  });

  test("reuses open connections: mgmtd drops a running commit when a session ends", async () => {
    const { router } = frr.instance;
    const names = await router.daemons();
    await Promise.all(names.map((daemon) => router.vty(daemon, signal)));
    const [probing, connecting] = [vi.spyOn(router, "vty"), vi.spyOn(router, "open")];
    onTestFinished(() => void vi.restoreAllMocks());
    const probed = () => new Set(probing.mock.calls.map(([daemon]) => daemon));
    await vi.waitFor(() => expect([...probed()].toSorted()).toEqual(names), patient);
    expect(connecting).not.toHaveBeenCalled();
  });

  test("after all daemons are killed, zebra starts before its clients", async () => {
    restarted.length = 0;
    const daemons = await frr.instance.router.daemons();
    for (const daemon of daemons) process.kill(await pidOf(frr, daemon), "SIGKILL");
    await vi.waitFor(() => expect(restarted.toSorted()).toEqual(daemons.map((daemon) => `${daemon} dead`).toSorted()), patient);
    await vi.waitFor(async () => expect(await configuration()).toEqual(complete), patient);
    const clients = daemons.filter((daemon) => daemon !== "zebra" && daemon !== "mgmtd");
    const zebra = await startOf(await pidOf(frr, "zebra"));
    for (const daemon of clients) expect(await startOf(await pidOf(frr, daemon))).toBeGreaterThan(zebra);
  });

  test("the next start kills and restarts a daemon that hangs", async () => {
    const pid = await pidOf(frr, "bgpd");
    process.kill(pid, "SIGSTOP");
    const next = new FrrInstance({ ...frr.options, deadlineMs: 500 });
    await next.start(signal);
    expect(await pidOf(frr, "bgpd")).not.toBe(pid);
    expect(await next.router.runningConfig("bgpd", signal)).toBe(complete["bgpd"]);
    next.router.close();
  });
});

test("without FRR the error names the package to install", async () => {
  const directory = await mkdtemp(join(tmpdir(), "plumbline-frr-"));
  const instance = new FrrInstance({
    name: "plt-none",
    stateDirectory: join(directory, "state"),
    runDirectory: join(directory, "run"),
    root: directory,
    log: createLog({ level: "silent" }),
  });
  await expect(instance.start(signal)).rejects.toMatchObject({
    name: "FrrError",
    code: "NotInstalled",
    message: expect.stringContaining("install the Debian package frr") as string,
  });
  await rm(directory, { recursive: true });
});

test("a namespace that cannot be entered is reported, and leaves nothing running", async () => {
  const directory = await mkdtemp(join(tmpdir(), "plumbline-frr-"));
  const instance = new FrrInstance({
    name: "plt-nowhere",
    netns: "plt-nowhere",
    stateDirectory: directory,
    log: createLog({ level: "silent" }),
  });
  await expect(instance.start(signal)).rejects.toMatchObject({
    name: "FrrError",
    message: expect.stringContaining("plt-nowhere") as string,
  });
  await instance.stop();
  await rm(directory, { recursive: true });
});
