import { readFileSync } from "node:fs";
import { namespaceIdentity } from "../../hostnet/namespaces.ts";
import { type PythonProcess, startPython } from "../../hostnet/python-process.ts";
import type { Address } from "../../ip/address.ts";
import type { Task } from "../../util/deadline.ts";
import type { RouterAnswer, RouterConnections, RouterResult } from "./reach-from-router.ts";

/** Set by the build. */
declare const ROUTER_CONNECT_SCRIPT: string | undefined;

function script(): string {
  return typeof ROUTER_CONNECT_SCRIPT === "string"
    ? ROUTER_CONNECT_SCRIPT
    : readFileSync(new URL("./router-connect.py", import.meta.url), "utf8");
}

/** In the lines of the process. */
const DEFAULT = "-";
const NO_ERROR = "-";

interface Pending {
  readonly results: RouterResult[];
  readonly end: (answer: RouterAnswer) => void;
  /** A process that has not answered by then is hung. */
  readonly dueAt: number;
  /** The one that has the request: after a restart it is not the current one. */
  process?: PythonProcess;
}

interface Started {
  readonly running: PythonProcess;
  readonly namespace: string;
}

const LATE_MS = 1_000;

/** One process in the router's namespace for all checks, started for the first of them. */
export class RouterConnector implements RouterConnections {
  readonly #netns: string;
  readonly #stop = new AbortController();
  readonly #pending = new Map<string, Pending>();
  #process: Started | undefined;
  #last = 0;

  constructor(netns: string) {
    this.#netns = netns;
  }

  connect(address: Address, port: number, vrf: string | undefined, timeoutMs: number): Task<RouterAnswer> {
    const id = String((this.#last += 1));
    const { promise, resolve } = Promise.withResolvers<RouterAnswer>();
    this.#pending.set(id, { results: [], end: resolve, dueAt: performance.now() + timeoutMs + LATE_MS });
    void this.#send(id, `connect ${id} ${address.toString()} ${port} ${timeoutMs} ${vrf ?? DEFAULT}\n`);
    return { result: promise.finally(() => this.#pending.delete(id)), cancel: () => this.#cancel(id) };
  }

  /** Ends the process. */
  close(): void {
    this.#stop.abort();
  }

  async #send(id: string, line: string): Promise<void> {
    // After the namespace was deleted and created again, the process is still in the old one.
    const namespace = await namespaceIdentity(this.#netns);
    const pending = this.#pending.get(id);
    if (!pending) return;
    let current = this.#process;
    if (current?.namespace !== namespace) {
      current?.running.kill();
      this.#process = current = this.#start(namespace);
    }
    pending.process = current.running;
    current.running.write(line);
  }

  #start(namespace: string): Started {
    const running = startPython({ script: script(), netns: this.#netns, signal: this.#stop.signal, onLine: (line) => this.#take(line) });
    const started = { running, namespace };
    void running.ended.then((last) => {
      if (this.#process === started) this.#process = undefined;
      const fault = `Cannot connect from the router: ${last || "its process ended"}`;
      for (const { process, end } of this.#pending.values()) if (process === running) end({ fault });
    });
    return started;
  }

  #cancel(id: string): void {
    const pending = this.#pending.get(id);
    if (!pending) return;
    this.#pending.delete(id);
    if (performance.now() > pending.dueAt) pending.process?.kill();
    else pending.process?.write(`cancel ${id}\n`);
  }

  #take(line: string): void {
    const [verb, id = "", where = DEFAULT, value = "", error = ""] = line.split(" ");
    const pending = this.#pending.get(id);
    const vrf = where === DEFAULT ? {} : { vrf: where };
    if (verb === "end") pending?.results.push({ ...vrf, latencyMs: Number(value) / 1000, ...(error !== NO_ERROR && { code: error }) });
    else if (verb === "shared") pending?.results.push({ ...vrf, sharedSource: value });
    else if (verb === "host") pending?.results.push({ ...vrf, isOwnHost: true });
    else if (verb === "done") pending?.end({ results: pending.results });
    else if (verb === "empty") pending?.end("no router");
  }
}
