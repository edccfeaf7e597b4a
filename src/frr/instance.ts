import type { Logger } from "pino";
import { access, chmod, chown, mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { daemonsOf, type Daemon } from "./daemons.ts";
import { FrrError } from "./error.ts";
import { FrrExec } from "./exec.ts";
import { boundLogs } from "./log-files.ts";
import { FrrClient, parseVersion, type FrrVersion } from "./client.ts";
import { openTransactions } from "./show.ts";
import { keepRunning, type RestartCause } from "./supervisor.ts";
import { sleep } from "../util/sleep.ts";

export interface FrrInstanceOptions {
  /** FRR's pathspace (-N): `vtysh -N <name>` connects to this router. */
  name: string;
  /** A named network namespace; our own by default. */
  netns?: string;
  /** Sockets and pid files; default `/run/frr/<name>`. */
  runDirectory?: string;
  /** For the boot file and the logs. */
  stateDirectory: string;
  /** A directory with another Debian, whose FRR is used. */
  root?: string;
  /** The port of bgpd; 0 for outgoing connections only. */
  bgpPort?: number;
  /** How long a daemon may take to answer. */
  deadlineMs?: number;
  log: Logger;
  onRestart?: (daemon: Daemon, cause: RestartCause) => void;
}

const PROGRAMS = "/usr/lib/frr";
const KEEP_ROUTES_SECONDS = 60;
const NETLINK_BUFFER = 90_000_000;
const START_MS = 30_000;
const STOP_MS = 5_000;

/** The daemons of one router. They outlive this process, and the next one finds them. */
export class FrrInstance {
  readonly name: string;
  readonly runDirectory: string;
  readonly stateDirectory: string;
  /** The configuration that the daemons read at start, written by the agent. */
  readonly bootFile: string;
  readonly router: FrrClient;
  readonly exec: FrrExec;
  readonly #options: FrrInstanceOptions;
  readonly #log: Logger;
  readonly #logDirectory: string;
  /** For files whose path cannot be configured. */
  readonly #pathspace: string;
  #version: FrrVersion | undefined;
  /** mgmtd's transactions at the last probe. */
  #transactions: ReadonlySet<string> = new Set();

  constructor(options: FrrInstanceOptions) {
    const { name, netns, root, deadlineMs, stateDirectory, runDirectory = `/run/frr/${name}` } = options;
    this.name = name;
    this.runDirectory = runDirectory;
    this.stateDirectory = stateDirectory;
    this.bootFile = join(stateDirectory, "frr.conf");
    this.router = new FrrClient({ directory: runDirectory, ...(deadlineMs ? { deadlineMs } : {}) });
    this.exec = new FrrExec({ directories: [stateDirectory, runDirectory], ...(netns ? { netns } : {}), ...(root ? { root } : {}) });
    this.#options = options;
    this.#log = options.log;
    this.#logDirectory = join(stateDirectory, "log");
    this.#pathspace = `/run/frr/${name}`;
  }

  /** Adopts running daemons, and starts the others with the boot file. */
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

  /** Restarts daemons that die or hang, and limits the size of the logs, until the signal. */
  async supervise(signal: AbortSignal): Promise<void> {
    const daemons = daemonsOf(await this.version(signal));
    await Promise.all([
      keepRunning(
        {
          daemons,
          connection: (daemon) => this.router.connection(daemon),
          alive: async (daemon) => (await this.#pid(daemon)) !== undefined,
          answers: (daemon) => this.#answers(daemon, signal),
          restart: (daemon, cause) => this.#restart(daemon, cause, signal),
        },
        signal,
      ),
      boundLogs(
        daemons.map((daemon) => this.#logFile(daemon)),
        (path, error) => this.#log.warn({ path, error }, "cannot truncate the FRR log"),
        signal,
      ),
    ]);
  }

  #logFile(daemon: Daemon): string {
    return join(this.#logDirectory, `${daemon}.log`);
  }

  async stop(): Promise<void> {
    this.router.close();
    const daemons: readonly Daemon[] = ["staticd", "bfdd", "bgpd", "zebra", "mgmtd"];
    for (const daemon of daemons) await this.#end(daemon, "SIGTERM");
    for (const directory of [this.runDirectory, this.#pathspace]) await rm(directory, { recursive: true, force: true });
  }

  /** Of the installed programs. */
  async version(signal: AbortSignal): Promise<FrrVersion> {
    if (this.#version) return this.#version;
    await this.#prepareDirectories();
    const { code, output } = await this.exec.run(`${PROGRAMS}/zebra`, ["--version"], signal);
    const version = parseVersion(output);
    if (code !== 0 || !version)
      throw new FrrError("NotStarted", `zebra --version exited with code ${code}: ${output.trim().slice(0, 500)}`);
    this.#version = version;
    return version;
  }

  async #prepareDirectories(): Promise<void> {
    const zebra = this.exec.path(`${PROGRAMS}/zebra`);
    await access(zebra).catch((cause: unknown) => {
      throw new FrrError("NotInstalled", `FRR is not installed: ${zebra} does not exist; install the Debian package frr`, cause);
    });
    const accounts = await this.exec.accounts();
    if (!accounts) throw new FrrError("NotInstalled", "FRR is not installed: there is no user frr; install the Debian package frr");
    try {
      for (const directory of [this.#pathspace, this.runDirectory, this.#logDirectory]) await mkdir(directory, { recursive: true });
      // bfdd leaves a socket there that anyone could write to, so the directory is private.
      await chown(this.runDirectory, accounts.user, accounts.vtyGroup);
      await chmod(this.runDirectory, 0o750);
      await chown(this.#logDirectory, accounts.user, accounts.group);
    } catch (cause) {
      throw new FrrError("NotStarted", `Cannot create FRR's directories: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
    }
  }

  async #adopt(daemon: Daemon, signal: AbortSignal): Promise<boolean> {
    if ((await this.#pid(daemon)) === undefined) return false;
    try {
      await this.router.vty(daemon, signal);
      this.#log.info({ daemon }, "running daemon adopted");
    } catch (error) {
      signal.throwIfAborted();
      this.#log.warn({ daemon, error }, "daemon does not answer, restarting it");
      await this.#end(daemon, "SIGKILL");
      return false;
    }
    return true;
  }

  /** On the existing connection: mgmtd forgets what another session is committing when one ends. */
  async #answers(daemon: Daemon, signal: AbortSignal): Promise<boolean> {
    try {
      await (await this.router.vty(daemon, signal)).must("enable", signal);
      return daemon !== "mgmtd" || (await this.#commits(signal));
    } catch {
      return false;
    }
  }

  /**
   * If zebra or staticd exits at the wrong moment, mgmtd waits for it in a transaction for ten minutes: it answers, but accepts no change.
   */
  async #commits(signal: AbortSignal): Promise<boolean> {
    const before = this.#transactions;
    this.#transactions = await openTransactions(this.router, signal);
    return this.#transactions.isDisjointFrom(before);
  }

  async #restart(daemon: Daemon, cause: RestartCause, signal: AbortSignal): Promise<void> {
    this.#log.warn({ daemon, cause }, "restarting daemon");
    try {
      if (cause === "hung") await this.#end(daemon, "SIGKILL");
      if (daemon !== "zebra" && daemon !== "mgmtd") await this.#zebraIsThere(signal);
      await this.#launch(daemon, await this.version(signal), signal);
      await this.#boot([daemon], signal);
      this.#options.onRestart?.(daemon, cause);
    } catch (error) {
      if (!signal.aborted) this.#log.error({ daemon, error }, "daemon failed to start");
    }
  }

  /**
   * A daemon that finds no zebra at its start retries after ten seconds, and bgpd loses its BFD settings until then: the sessions run
   * without BFD. If zebra does not start, its own supervision reports it.
   */
  async #zebraIsThere(signal: AbortSignal): Promise<void> {
    const until = performance.now() + START_MS;
    while (performance.now() < until && !(await this.#answers("zebra", signal))) await sleep(50, signal);
  }

  async #launch(daemon: Daemon, version: FrrVersion, signal: AbortSignal): Promise<void> {
    for (const stale of ["vty", "pid"]) await rm(this.#file(daemon, stale), { force: true });
    const limited = AbortSignal.any([signal, AbortSignal.timeout(START_MS)]);
    const output = join(this.#logDirectory, `${daemon}.out`);
    const ended = await this.exec
      .runIntoFile(`${PROGRAMS}/${daemon}`, this.#flags(daemon, version), output, limited)
      .catch((cause: unknown) => {
        signal.throwIfAborted();
        throw new FrrError("NotStarted", `${daemon} did not start within ${START_MS / 1000} s`, cause);
      });
    if (ended.code !== 0) throw new FrrError("NotStarted", `${daemon} exited with code ${ended.code}: ${ended.output.trim().slice(-500)}`);
    await this.router.vty(daemon, signal).catch(async (cause: unknown) => {
      // Errors after it has detached are only in its log.
      const log = await readFile(this.#logFile(daemon), "utf8").catch(() => "");
      throw new FrrError("NotStarted", `${daemon} does not answer: ${log.trim().split("\n").at(-1) ?? ""}`, cause);
    });
    this.#log.info({ daemon, version: version.text }, "daemon started");
  }

  #flags(daemon: Daemon, version: FrrVersion): string[] {
    const flags = ["-d", "-N", this.name, "--vty_socket", this.runDirectory, "-i", this.#file(daemon, "pid")];
    flags.push("--log", `file:${this.#logFile(daemon)}`, "--log-level", "warnings");
    // No vty on TCP.
    flags.push("-A", "127.0.0.1", "-P", "0");
    if (daemon !== "mgmtd") flags.push("-z", this.#file("zserv", "api"));
    // vtysh assigns lines to daemons; a daemon would reject or misread the lines of others in a common file.
    if (daemon !== "mgmtd" && (daemon !== "staticd" || version.major < 10)) flags.push("-f", "/dev/null");
    // zebra never recovers netlink messages that do not fit into the buffer.
    if (daemon === "zebra") flags.push("-K", String(KEEP_ROUTES_SECONDS), "-s", String(NETLINK_BUFFER));
    if (daemon === "bgpd" && this.#options.bgpPort !== undefined) flags.push("-p", String(this.#options.bgpPort));
    return flags;
  }

  async #boot(daemons: readonly Daemon[], signal: AbortSignal): Promise<void> {
    const text = await readFile(this.bootFile, "utf8").catch(() => "");
    if (text.trim() === "") return;
    for (const daemon of daemons) {
      const { code, output } = await this.exec.run("vtysh", ["--vty_socket", this.runDirectory, "-d", daemon, "-f", this.bootFile], signal);
      if (code !== 0) this.#log.warn({ daemon, code, output: output.trim().slice(0, 500) }, "FRR rejected part of the boot file");
    }
  }

  /** A hanging daemon ignores SIGTERM. */
  async #end(daemon: Daemon, how: "SIGTERM" | "SIGKILL"): Promise<void> {
    const pid = await this.#pid(daemon);
    if (pid !== undefined) process.kill(pid, how);
    for (const until = performance.now() + STOP_MS; (await this.#pid(daemon)) !== undefined; await sleep(20)) {
      if (performance.now() > until) return how === "SIGTERM" ? this.#end(daemon, "SIGKILL") : undefined;
    }
    await rm(this.#file(daemon, "pid"), { force: true });
  }

  /** The daemon's process, if it lives. */
  async #pid(daemon: Daemon): Promise<number | undefined> {
    const pid = Number(await readFile(this.#file(daemon, "pid"), "utf8").catch(() => ""));
    if (!Number.isInteger(pid) || pid <= 1) return undefined;
    // The pid may belong to another process by now, and a zombie counts as dead.
    const [, name, state] = /^\d+ \((.*)\) (\S)/.exec(await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "")) ?? [];
    return name === daemon && state !== "Z" && state !== "X" ? pid : undefined;
  }

  #file(name: string, ending: string): string {
    return join(this.runDirectory, `${name}.${ending}`);
  }
}
