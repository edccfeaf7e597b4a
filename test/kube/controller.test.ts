import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, beforeEach, afterEach, expect, test, vi } from "vitest";
import { ConfigMap } from "../../src/api/core/config-map.ts";
import { Lease } from "../../src/api/core/lease.ts";
import { Cache } from "../../src/kube/cache/cache.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { createLog } from "../../src/kube/log.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";
import { copyProblems, COPIES, copier, type CopierOptions, copyCache, createNamespaces, sourceCache, SOURCES } from "./fixtures/copier.ts";
import type { CopierSettings, CopierMessage } from "./fixtures/copier-process.ts";

let api: SuiteApiServer;
let client: KubeClient;
let stop: AbortController;
let ended: Promise<void>;
let processes: CopierProcess[];
const never = new AbortController().signal;

beforeAll(async () => {
  api = await apiServer("controller");
  client = new KubeClient(api.access);
  await createNamespaces(client);
});

afterAll(async () => {
  client.close();
  await api.stop();
});

beforeEach(() => {
  stop = new AbortController();
  ended = Promise.resolve();
  processes = [];
});

afterEach(async () => {
  stop.abort();
  await ended;
  await Promise.all(processes.map((child) => child.kill()));
  for (const namespace of [SOURCES, COPIES])
    await client.request("DELETE", `/api/v1/namespaces/${namespace}/configmaps`, { signal: never });
});

function startCopier(options: Partial<CopierOptions> = {}): void {
  const sources = new Cache(client, ConfigMap, sourceCache);
  const copies = new Cache(client, ConfigMap, copyCache);
  sources.start(stop.signal);
  copies.start(stop.signal);
  ended = copier({ client, sources, copies, log: createLog({ level: "silent" }), workers: 4, ...options }).run(stop.signal);
}

const names = (count: number) => Array.from({ length: count }, (_, n) => `source-${n}`);

/** Many at once, as users do who apply a directory. */
async function eight(names: readonly string[], write: (name: string) => Promise<unknown>): Promise<void> {
  const rest = names.values();
  const writers = Array.from({ length: 8 }, async () => {
    for (const name of rest) await write(name);
  });
  await Promise.all(writers);
}

const create = (name: string) =>
  client.resource(ConfigMap).create({ metadata: { name, namespace: SOURCES }, data: { revision: "1" } }, { signal: never });
const revise = (revision: number) => (name: string) =>
  client.resource(ConfigMap).patch({ name, namespace: SOURCES }, { data: { revision: String(revision) } }, { signal: never });
const remove = (name: string) => client.resource(ConfigMap).delete({ name, namespace: SOURCES }, { signal: never });

async function converges(): Promise<void> {
  await vi.waitFor(async () => expect(await copyProblems(client, never)).toEqual([]), { timeout: 60_000, interval: 200 });
}

test("hundreds of objects reach their wanted state with four workers, those found at start-up and those that come and change later", async () => {
  await eight(names(300).slice(0, 150), create);
  startCopier();
  await eight(names(300).slice(150), create);
  await converges();
  await eight(names(300), revise(2));
  await eight(names(300).slice(0, 50), remove);
  await eight(names(300).slice(0, 20), create);
  await eight(names(300).slice(100), revise(3));
  await converges();
  expect((await client.resource(ConfigMap).list({ namespace: COPIES, signal: never })).items).toHaveLength(270);
});

test("reconciles that fail or want to look again later get there too", async () => {
  const tries = new Map<string, number>();
  startCopier({
    async disturb(name) {
      const attempt = (tries.get(name) ?? 0) + 1;
      tries.set(name, attempt);
      if (attempt <= 2) throw new Error("not yet");
      return attempt === 3 ? { requeueAfter: 50 } : undefined;
    },
  });
  await eight(names(100), create);
  await converges();
  expect(Math.min(...tries.values())).toBeGreaterThanOrEqual(4);
});

/** The copier in a process of its own. */
class CopierProcess {
  readonly messages: CopierMessage[] = [];
  readonly errors: string[] = [];
  readonly #process: ChildProcess;
  readonly exit: Promise<unknown[]>;

  constructor(settings: CopierSettings) {
    const script = join(import.meta.dirname, "fixtures", "copier-process.ts");
    this.#process = spawn("setpriv", ["--pdeathsig", "KILL", "--", process.execPath, script, JSON.stringify(settings)], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.exit = once(this.#process, "exit");
    const { stdout, stderr } = this.#process;
    if (stdout) createInterface(stdout).on("line", (line) => this.messages.push(JSON.parse(line) as CopierMessage));
    if (stderr) createInterface(stderr).on("line", (line) => this.errors.push(line));
  }

  event(what: CopierMessage["event"]): string[] {
    return this.messages.flatMap((message) => (message.event === what ? ["name" in message ? message.name : ""] : []));
  }

  async hasSent(what: CopierMessage["event"], times: number): Promise<void> {
    const waiting = async () => {
      if (this.event(what).length < times) throw new Error(`sent "${what}" ${this.event(what).length} times\n${this.errors.join("\n")}`);
    };
    await vi.waitFor(waiting, { timeout: 60_000 });
  }

  signal(name: NodeJS.Signals): void {
    this.#process.kill(name);
  }

  async kill(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    this.#process.kill("SIGKILL");
    await this.exit;
  }
}

async function startProcess(settings: Partial<CopierSettings>): Promise<CopierProcess> {
  const kubeconfig = await api.server.kubeconfig("admin");
  const child = new CopierProcess({ kubeconfig, healthAddress: "127.0.0.1:0", lease: "copier", slowMs: 0, ...settings });
  processes.push(child);
  return child;
}

test("SIGTERM lets running reconciles finish, flushes, releases the Lease; the next process goes on where it ended", async () => {
  await eight(names(60), create);
  const first = await startProcess({ slowMs: 400 });
  await first.hasSent("begun", 9);
  first.signal("SIGTERM");
  expect(await first.exit).toEqual([0, null]);
  const begun = first.event("begun");
  const copies = await client.resource(ConfigMap).list({ namespace: COPIES, signal: never });
  expect(begun.length).toBeLessThan(60);
  expect(new Set(copies.items.map((copy) => copy.metadata.labels?.["source"]))).toEqual(new Set(begun));
  expect(first.messages.slice(-2)).toEqual([{ event: "flushed" }, { event: "ended" }]);
  const lease = await client.resource(Lease).get("copier", { namespace: "default", signal: never });
  expect(lease.spec.holderIdentity).toBe("");

  await startProcess({});
  await converges();
});

test("a leader that was frozen for too long ends its term when it wakes, and leads again in the same process", async () => {
  await eight(names(10), create);
  const child = await startProcess({ lease: "frozen-copier", hasty: true });
  await converges();
  child.signal("SIGSTOP");
  await eight(names(20).slice(10), create);
  await new Promise((resolve) => setTimeout(resolve, 3500));
  child.signal("SIGCONT");
  await child.hasSent("flushed", 1);
  await converges();
  expect(child.event("ended")).toEqual([]);
  child.signal("SIGTERM");
  expect(await child.exit).toEqual([0, null]);
  expect(child.event("flushed").length).toBeGreaterThanOrEqual(2);
});

test("a second signal ends the process at once", async () => {
  await eight(names(4), create);
  const deaf = await startProcess({ deaf: true, lease: "deaf-copier" });
  await deaf.hasSent("begun", 4);
  deaf.signal("SIGTERM");
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(deaf.event("ended")).toEqual([]);
  deaf.signal("SIGTERM");
  expect(await deaf.exit).toEqual([143, null]);
});
