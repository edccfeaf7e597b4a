import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { VtyError } from "./error.ts";
import { Vty } from "./vty.ts";

export interface FrrVersion {
  readonly major: number;
  readonly minor: number;
  readonly text: string;
}

export interface FrrClientOptions {
  /** The directory of the sockets, `<daemon>.vty`. */
  directory: string;
  /** How long a daemon may take to answer. */
  deadlineMs?: number;
}

/** The running daemons of one FRR. Connections are opened on demand, shared, and reopened after a daemon was away. */
export class FrrClient {
  readonly directory: string;
  readonly #deadlineMs: number | undefined;
  readonly #vtys = new Map<string, Promise<Vty>>();
  readonly #connected = new Map<string, { vty: Vty; identity?: string }>();
  #version: { identity: string | undefined; version: FrrVersion } | undefined;

  constructor({ directory, deadlineMs }: FrrClientOptions) {
    this.directory = directory;
    this.#deadlineMs = deadlineMs;
  }

  /** Daemons with a socket. A killed one may be among them. */
  async daemons(): Promise<string[]> {
    const names = await readdir(this.directory).catch(() => []);
    return names.flatMap((name) => (name.endsWith(".vty") ? [name.slice(0, -".vty".length)] : [])).sort();
  }

  /** Changes when the daemon is restarted. Undefined while it has no socket. */
  async identity(daemon: string): Promise<string | undefined> {
    const connected = this.#connected.get(daemon);
    if (connected?.vty.open && connected.identity) return connected.identity;
    const socket = await stat(this.#path(daemon), { bigint: true }).catch(() => undefined);
    const identity = socket && `${socket.ino}:${socket.mtimeNs}`;
    if (connected && identity) connected.identity = identity;
    return identity;
  }

  /** The existing connection, if any: it does not outlive the daemon. */
  connection(daemon: string): Vty | undefined {
    const vty = this.#connected.get(daemon)?.vty;
    return vty?.open ? vty : undefined;
  }

  /** The shared connection for reading. For configuration mode see `open`. */
  async vty(daemon: string, signal: AbortSignal): Promise<Vty> {
    for (let known = this.#vtys.get(daemon); known; known = this.#vtys.get(daemon)) {
      const vty = await known.catch(() => undefined);
      if (vty?.open) return vty;
      // Lost, or aborted by another caller: try again.
      if (this.#vtys.get(daemon) === known) this.#vtys.delete(daemon);
    }
    const connecting = this.open(daemon, signal);
    this.#vtys.set(daemon, connecting);
    const vty = await connecting;
    this.#connected.set(daemon, { vty });
    return vty;
  }

  /** A separate connection, for the caller to close. */
  open(daemon: string, signal: AbortSignal): Promise<Vty> {
    return Vty.connect(this.#path(daemon), { daemon, signal, ...(this.#deadlineMs === undefined ? {} : { deadlineMs: this.#deadlineMs }) });
  }

  async version(signal: AbortSignal): Promise<FrrVersion> {
    const identity = await this.identity("zebra");
    if (identity && this.#version?.identity === identity) return this.#version.version;
    const text = await (await this.vty("zebra", signal)).must("show version", signal);
    const version = parseVersion(text);
    if (!version) throw new VtyError("Malformed", "zebra", "show version", `no version in: ${text.slice(0, 80)}`);
    this.#version = { identity, version };
    return version;
  }

  /** Without header and footer. */
  async runningConfig(daemon: string, signal: AbortSignal): Promise<string> {
    const text = await (await this.vty(daemon, signal)).must("show running-config", signal);
    return text.replace(/^\s*Building configuration\.\.\.\s*Current configuration:\s*\n/, "");
  }

  close(): void {
    for (const connecting of this.#vtys.values()) {
      connecting.then(
        (vty) => vty.close(),
        () => {},
      );
    }
    this.#vtys.clear();
  }

  #path(daemon: string): string {
    return join(this.directory, `${daemon}.vty`);
  }
}

export function parseVersion(text: string): FrrVersion | undefined {
  const [, whole, major, minor] = /\b((\d+)\.(\d+)[\w.~-]*)/.exec(text) ?? [];
  return whole ? { major: Number(major), minor: Number(minor), text: whole } : undefined;
}
