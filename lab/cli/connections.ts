import { join } from "node:path";
import type { RemoteProcess } from "../machine/machine.ts";
import type { LabHost } from "../net/lab-host.ts";
import type { ConnectAttempt, ConnectTarget } from "../services/connect.ts";

const PROGRAM = join(import.meta.dirname, "../services/connect.ts");

interface Tally {
  readonly ok: number;
  readonly failed: number;
  readonly last?: ConnectAttempt;
}

interface ConnectionsOptions {
  /** Who opens them. */
  readonly host: LabHost;
  readonly everyMs: number;
  readonly onAttempt?: (attempt: ConnectAttempt) => void;
}

/** Connections that a client opens to services, again and again. */
export class Connections {
  readonly #process: RemoteProcess;
  readonly #tallies = new Map<string, Tally>();
  readonly #onAttempt: (attempt: ConnectAttempt) => void;
  #aimed = "[]";
  #rest = "";

  constructor({ host, everyMs, onAttempt = () => undefined }: ConnectionsOptions) {
    this.#onAttempt = onAttempt;
    this.#process = host.start([process.execPath, "--disable-warning=ExperimentalWarning", PROGRAM, String(everyMs)]);
    this.#process.onOutput = (chunk) => this.#read(chunk.toString());
  }

  aim(targets: readonly ConnectTarget[]): void {
    const line = JSON.stringify(targets);
    if (line === this.#aimed) return;
    this.#aimed = line;
    this.#process.input(`${line}\n`);
  }

  /** Of the attempts to a target that are over. Failures before the first success do not count: the lab still starts. */
  tally(name: string): Tally {
    return this.#tallies.get(name) ?? { ok: 0, failed: 0 };
  }

  async stop(): Promise<void> {
    await this.#process.kill();
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const last = JSON.parse(line) as ConnectAttempt;
      const { ok, failed } = this.tally(last.name);
      const counts = last.by === undefined ? { ok, failed: ok === 0 ? 0 : failed + 1 } : { ok: ok + 1, failed };
      this.#tallies.set(last.name, { ...counts, last });
      this.#onAttempt(last);
    }
  }
}
