import type { Logger } from "pino";
import { access, chmod, chown, mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { daemonsOf, type Daemon } from "./daemons.ts";
import { FrrError } from "./error.ts";
import { Jail } from "./jail.ts";
import { FrrRouter, parseVersion, type FrrVersion } from "./router.ts";

export interface FrrInstanceOptions {
  /** FRR's pathspace (-N): `vtysh -N <name>` speaks to this router. */
  name: string;
  /** A named network namespace; without one the daemons run in ours. */
  netns?: string;
  /** Sockets and pid files; `/run/frr/<name>` unless told otherwise. */
  runDirectory?: string;
  /** The boot file and the daemons' logs. */
  stateDirectory: string;
  /** A directory with another Debian in it, whose FRR is used. */
  root?: string;
  /** Where bgpd listens; 0 to only dial. */
  bgpPort?: number;
  /** How long a daemon may take to answer. */
  deadlineMs?: number;
  log: Logger;
  /** A daemon was found dead and has been started anew. */
  onRestart?: (daemon: Daemon) => void;
}

const PROGRAMS = "/usr/lib/frr";
const KEEP_ROUTES_SECONDS = 60;
const START_MS = 30_000;
const STOP_MS = 5_000;
const LOOK_EVERY_MS = 1_000;
const RESTART = { minMs: 500, maxMs: 30_000 };

/** The daemons of one router: started so that they outlive us, and found again by the next of us. */
export class FrrInstance {
  readonly name: string;
  readonly runDirectory: string;
  readonly stateDirectory: string;
  /** What daemons are given when they start. Whoever configures the router writes it. */
  readonly bootFile: string;
  readonly router: FrrRouter;
  readonly jail: Jail;
  readonly #options: FrrInstanceOptions;
  readonly #log: Logger;
  readonly #logDirectory: string;
  #version: FrrVersion | undefined;

  constructor(options: FrrInstanceOptions) {
    const { name, netns, root, deadlineMs, stateDirectory, runDirectory = `/run/frr/${name}` } = options;
    this.name = name;
    this.runDirectory = runDirectory;
    this.stateDirectory = stateDirectory;
    this.bootFile = join(stateDirectory, "frr.conf");
    this.router = new FrrRouter({ directory: runDirectory, ...(deadlineMs ? { deadlineMs } : {}) });
    this.jail = new Jail({ directories: [stateDirectory, runDirectory], ...(netns ? { netns } : {}), ...(root ? { root } : {}) });
    this.#options = options;
    this.#log = options.log;
    this.#logDirectory = join(stateDirectory, "log");
  }

  /** Has every daemon running: takes over those that do, starts the others and gives them the boot file. */
  async start(signal: AbortSignal): Promise<void> {
    await this.#prepareDirectories();
    const version = await this.version(signal);
    const started: Daemon[] = [];
    for (const daemon of daemonsOf(version)) {
      if (await this.#adopt(daemon, signal)) continue;
      await this.#launch(daemon, version, signal);
      started.push(daemon);
    }
    if (started.length) await this.#boot(started, signal);
  }

  /** Starts anew what dies, until the signal. */
  async supervise(signal: AbortSignal): Promise<void> {
    const failures = new Map<Daemon, { count: number; notBefore: number }>();
    const daemons = daemonsOf(await this.version(signal));
    while (!signal.aborted) {
      for (const daemon of daemons) {
        if ((await this.#pid(daemon)) !== undefined) continue;
        const before = failures.get(daemon);
        if (before && performance.now() < before.notBefore) continue;
        // Counted also when the start goes well: a daemon that dies of its configuration starts well every time.
        const count = (before?.count ?? 0) + 1;
        failures.set(daemon, { count, notBefore: performance.now() + backoffMs(count) });
        await this.#restart(daemon, signal);
      }
      for (const [daemon, { count, notBefore }] of failures) {
        if (performance.now() > notBefore + 2 * backoffMs(count) && (await this.#pid(daemon)) !== undefined) failures.delete(daemon);
      }
      await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
    }
  }

  /** Ends every daemon. */
  async stop(): Promise<void> {
    this.router.close();
    const daemons: readonly Daemon[] = ["staticd", "bfdd", "bgpd", "zebra", "mgmtd"];
    for (const daemon of daemons) await this.#end(daemon);
    await rm(this.runDirectory, { recursive: true, force: true });
  }

  /** Of the programs, not of what runs. */
  async version(signal: AbortSignal): Promise<FrrVersion> {
    if (this.#version) return this.#version;
    await access(this.jail.path(`${PROGRAMS}/zebra`)).catch((cause: unknown) => {
      throw new FrrError(
        "NotInstalled",
        `FRR is not installed: ${this.jail.path(`${PROGRAMS}/zebra`)} does not exist; install the Debian package frr`,
        cause,
      );
    });
    const { output } = await this.jail.run(`${PROGRAMS}/zebra`, ["--version"], signal);
    const version = parseVersion(output);
    if (!version)
      throw new FrrError("NotInstalled", `zebra does not say its version: ${output.slice(0, 200)}; reinstall the Debian package frr`);
    this.#version = version;
    return version;
  }

  async #prepareDirectories(): Promise<void> {
    const accounts = await this.jail.accounts();
    if (!accounts) throw new FrrError("NotInstalled", "FRR has no user frr; reinstall the Debian package frr");
    for (const directory of new Set([this.runDirectory, `/run/frr/${this.name}`, this.stateDirectory]))
      await mkdir(directory, { recursive: true });
    // bfdd leaves a socket there that anyone might write to, so that others must not come as far.
    await chown(this.runDirectory, accounts.user, accounts.vtyGroup);
    await chmod(this.runDirectory, 0o750);
    await mkdir(this.#logDirectory, { recursive: true });
    await chown(this.#logDirectory, accounts.user, accounts.group);
  }

  async #adopt(daemon: Daemon, signal: AbortSignal): Promise<boolean> {
    if ((await this.#pid(daemon)) === undefined) return false;
    try {
      await this.router.vty(daemon, signal);
      this.#log.info({ daemon }, "daemon taken over");
    } catch (error) {
      signal.throwIfAborted();
      this.#log.warn({ daemon, error }, "daemon does not answer, starting it anew");
      await this.#end(daemon);
      return false;
    }
    return true;
  }

  async #restart(daemon: Daemon, signal: AbortSignal): Promise<void> {
    this.#log.warn({ daemon }, "daemon is gone, starting it anew");
    try {
      await this.#launch(daemon, await this.version(signal), signal);
      await this.#boot([daemon], signal);
      this.#options.onRestart?.(daemon);
    } catch (error) {
      if (!signal.aborted) this.#log.error({ daemon, error }, "daemon does not start");
    }
  }

  async #launch(daemon: Daemon, version: FrrVersion, signal: AbortSignal): Promise<void> {
    for (const stale of ["vty", "pid"]) await rm(this.#file(daemon, stale), { force: true });
    const limited = AbortSignal.any([signal, AbortSignal.timeout(START_MS)]);
    const output = join(this.#logDirectory, `${daemon}.out`);
    const ended = await this.jail
      .runDaemon(`${PROGRAMS}/${daemon}`, this.#flags(daemon, version), output, limited)
      .catch((cause: unknown) => {
        signal.throwIfAborted();
        throw new FrrError("NotStarted", `${daemon} did not start in ${START_MS / 1000} s`, cause);
      });
    if (ended.code !== 0) throw new FrrError("NotStarted", `${daemon} ended with code ${ended.code}: ${ended.output.trim().slice(-500)}`);
    await this.router.vty(daemon, signal).catch(async (cause: unknown) => {
      // What went wrong after it left its terminal stands in its log alone.
      const log = await readFile(join(this.#logDirectory, `${daemon}.log`), "utf8").catch(() => "");
      throw new FrrError("NotStarted", `${daemon} does not answer: ${log.trim().split("\n").at(-1) ?? ""}`, cause);
    });
    this.#log.info({ daemon, version: version.text }, "daemon started");
  }

  #flags(daemon: Daemon, version: FrrVersion): string[] {
    const flags = ["-d", "-N", this.name, "--vty_socket", this.runDirectory, "-i", this.#file(daemon, "pid")];
    flags.push("--log", `file:${join(this.#logDirectory, `${daemon}.log`)}`, "--log-level", "warnings");
    // No vty on TCP.
    flags.push("-A", "127.0.0.1", "-P", "0");
    if (daemon !== "mgmtd") flags.push("-z", this.#file("zserv", "api"));
    // Its own file would be read with the lines of other daemons in it, each a complaint, some misread: vtysh knows whose is whose.
    if (daemon !== "mgmtd" && (daemon !== "staticd" || version.major < 10)) flags.push("-f", "/dev/null");
    if (daemon === "zebra") flags.push("-K", String(KEEP_ROUTES_SECONDS));
    if (daemon === "bgpd" && this.#options.bgpPort !== undefined) flags.push("-p", String(this.#options.bgpPort));
    return flags;
  }

  async #boot(daemons: readonly Daemon[], signal: AbortSignal): Promise<void> {
    const text = await readFile(this.bootFile, "utf8").catch(() => "");
    if (text.trim() === "") return;
    for (const daemon of daemons) {
      const { code, output } = await this.jail.run("vtysh", ["--vty_socket", this.runDirectory, "-d", daemon, "-f", this.bootFile], signal);
      if (code !== 0) this.#log.warn({ daemon, code, output: output.trim().slice(0, 500) }, "not all of the boot file was taken");
    }
  }

  async #end(daemon: Daemon): Promise<void> {
    for (const how of ["SIGTERM", "SIGKILL"] as const) {
      const until = performance.now() + STOP_MS;
      for (let pid = await this.#pid(daemon), first = true; pid !== undefined; pid = await this.#pid(daemon), first = false) {
        if (first) process.kill(pid, how);
        // A stopped process hears SIGTERM only when it goes on.
        if (performance.now() > until) break;
        await sleep(20);
      }
    }
    await rm(this.#file(daemon, "pid"), { force: true });
  }

  /** The daemon's process, if it lives. */
  async #pid(daemon: Daemon): Promise<number | undefined> {
    const pid = Number(await readFile(this.#file(daemon, "pid"), "utf8").catch(() => ""));
    if (!Number.isInteger(pid) || pid <= 1) return undefined;
    // The number may have been given to another process since; and one that nobody waited for is dead all the same.
    const [, name, state] = /^\d+ \((.*)\) (\S)/.exec(await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "")) ?? [];
    return name === daemon && state !== "Z" && state !== "X" ? pid : undefined;
  }

  #file(name: string, ending: string): string {
    return join(this.runDirectory, `${name}.${ending}`);
  }
}

/** Doubles from one failure to the next; the upper half of each step is left to chance. */
function backoffMs(failures: number): number {
  return Math.min(RESTART.maxMs, RESTART.minMs * 2 ** (failures - 1)) * (0.5 + Math.random() / 2);
}
