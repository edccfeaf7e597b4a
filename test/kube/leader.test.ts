import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { ConfigMap } from "../../src/api/core/config-map.ts";
import { Lease } from "../../src/api/core/lease.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";
import { DelayingProxy } from "../support/delaying-proxy.ts";
import type { ElectorSettings, ElectorMessage } from "./fixtures/elector.ts";

const script = join(import.meta.dirname, "fixtures", "elector.ts");
const namespace = "default";
const signal = new AbortController().signal;

let api: SuiteApiServer;
let client: KubeClient;
let round = 0;
let lease: string;
let ledger: string;
let electors: Elector[];

beforeAll(async () => {
  api = await apiServer("leader", { audit: true });
  client = new KubeClient(api.access);
});

afterAll(async () => {
  client.close();
  await api.stop();
});

beforeEach(async () => {
  round += 1;
  lease = `lease-${round}`;
  ledger = `ledger-${round}`;
  electors = [];
  await client.resource(ConfigMap).create({ metadata: { name: ledger, namespace } }, { signal });
});

afterEach(async () => {
  await Promise.all(electors.map((elector) => elector.kill()));
});

/** A candidate in a process of its own. */
class Elector {
  readonly identity: string;
  readonly messages: ElectorMessage[] = [];
  readonly #process: ChildProcess;

  constructor(identity: string, settings: Omit<ElectorSettings, "identity">) {
    this.identity = identity;
    const argument = JSON.stringify({ identity, ...settings } satisfies ElectorSettings);
    this.#process = spawn("setpriv", ["--pdeathsig", "KILL", "--", process.execPath, script, argument], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    if (this.#process.stdout) {
      createInterface(this.#process.stdout).on("line", (line) => this.messages.push(JSON.parse(line) as ElectorMessage));
    }
  }

  signal(name: NodeJS.Signals): void {
    this.#process.kill(name);
  }

  async kill(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const gone = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await gone;
  }

  get terms(): string[] {
    return this.messages.flatMap((message) => (message.event === "leading" ? [message.takeover] : []));
  }

  count(event: ElectorMessage["event"]): number {
    return this.messages.filter((message) => message.event === event).length;
  }

  /** Until it has led this many terms and written in the last one. */
  async leads(term = 1): Promise<void> {
    await eventually(() => this.terms.length >= term);
    await this.writes(3);
  }

  async writes(more: number): Promise<void> {
    const before = this.count("wrote");
    await eventually(() => this.count("wrote") >= before + more);
  }
}

async function candidate(identity: string, kubeconfig?: string): Promise<Elector> {
  const elector = new Elector(`${identity}-${round}`, { kubeconfig: kubeconfig ?? (await api.server.kubeconfig("admin")), lease, ledger });
  electors.push(elector);
  return elector;
}

async function candidates(...identities: string[]): Promise<{ leader: Elector; others: Elector[] }> {
  const all: Elector[] = [];
  for (const identity of identities) all.push(await candidate(identity));
  const leader = await firstOf(all);
  return { leader, others: all.filter((elector) => elector !== leader) };
}

async function firstOf(all: readonly Elector[]): Promise<Elector> {
  await eventually(() => all.some(({ terms }) => terms.length > 0));
  const leader = all.find(({ terms }) => terms.length > 0);
  if (!leader) throw new Error("nobody leads");
  await leader.writes(3);
  return leader;
}

function eventually(holds: () => boolean): Promise<unknown> {
  return vi.waitFor(
    () => {
      if (!holds())
        throw new Error(`still waiting: ${JSON.stringify(electors.map(({ identity, messages }) => [identity, messages.slice(-3)]))}`);
    },
    { timeout: 60_000, interval: 20 },
  );
}

interface Write {
  who: string;
  what: string;
  code: number;
}

interface AuditLine {
  verb: string;
  userAgent: string;
  requestReceivedTimestamp: string;
  objectRef?: { name?: string; resource: string };
  responseStatus?: { code: number };
}

/** Every write to this round's Lease and ledger by one of its electors, in the order in which the API server received them. */
async function receivedWrites(): Promise<Write[]> {
  const lines = (await readFile(api.server.auditLog, "utf8")).trimEnd().split("\n");
  return lines
    .map((line) => JSON.parse(line) as AuditLine)
    .filter(({ verb }) => ["create", "update", "patch", "delete"].includes(verb))
    .filter(({ userAgent }) => electors.some(({ identity }) => identity === userAgent))
    .sort((a, b) => (a.requestReceivedTimestamp < b.requestReceivedTimestamp ? -1 : 1))
    .map(({ userAgent, objectRef, responseStatus }) => ({
      who: userAgent,
      what: objectRef?.resource ?? "",
      code: responseStatus?.code ?? 0,
    }));
}

/** Who wrote the ledger, one entry for each uninterrupted run. */
async function ledgerWriters(): Promise<string[]> {
  const writers = (await receivedWrites()).filter(({ what, code }) => what === "configmaps" && code < 300).map(({ who }) => who);
  return writers.filter((who, nth) => who !== writers[nth - 1]);
}

/** What the first still sent after the server had received the second's first write to the ledger. */
async function writtenTooLate(first: Elector, second: Elector): Promise<Write[]> {
  const writes = await receivedWrites();
  const takenOver = writes.findIndex(({ who, what }) => who === second.identity && what === "configmaps");
  expect(takenOver).toBeGreaterThan(0);
  return writes.slice(takenOver).filter(({ who }) => who === first.identity);
}

async function transitions(): Promise<number | undefined> {
  return (await client.resource(Lease).get(lease, { namespace, signal })).spec.leaseTransitions;
}

test("when a leader is killed, one of the others takes over the expired Lease, and only one", async () => {
  const { leader, others } = await candidates("a", "b", "c");
  expect(leader.terms).toEqual(["free"]);
  leader.signal("SIGKILL");
  const next = await firstOf(others);
  await next.writes(50);
  expect(others.flatMap(({ terms }) => terms)).toEqual(["expired"]);
  expect(await ledgerWriters()).toEqual([leader.identity, next.identity]);
  expect(await transitions()).toBe(1);
});

/** One renewal and one entry may have been on their way when the leader was stopped; neither is accepted. */
function expectOnlyRejected(late: readonly Write[]): void {
  expect(late.length).toBeLessThanOrEqual(2);
  expect(late.filter(({ code }) => code < 300)).toEqual([]);
}

test("a leader that was frozen and woken starts no new write, not even a renewal; what was under way is refused", async () => {
  const { leader, others } = await candidates("a", "b");
  let [asleep, awake] = [leader, others[0] ?? leader];
  for (let term = 1; term <= 3; term += 1) {
    asleep.signal("SIGSTOP");
    await awake.leads(Math.ceil(term / 2));
    const received = (await receivedWrites()).length;
    asleep.signal("SIGCONT");
    await eventually(() => asleep.count("lost") === Math.ceil(term / 2));
    await awake.writes(100);
    expectOnlyRejected((await receivedWrites()).slice(received).filter(({ who }) => who === asleep.identity));
    [asleep, awake] = [awake, asleep];
  }
  const [a, b] = [leader.identity, others[0]?.identity];
  expect(await ledgerWriters()).toEqual([a, b, a, b]);
  expect([...leader.terms, ...(others[0]?.terms ?? [])]).toEqual(["free", "expired", "expired", "expired"]);
  expect(await transitions()).toBe(3);
});

test("a leader cut off from the API server stops by itself; what was under way when it was cut off is refused when it arrives late", async () => {
  const proxy = await DelayingProxy.to(api.server.port);
  try {
    const kubeconfig = join(api.server.directory, "through-proxy.kubeconfig");
    const direct = await readFile(await api.server.kubeconfig("admin"), "utf8");
    await writeFile(kubeconfig, direct.replace(String(api.server.port), String(proxy.port)), { mode: 0o600 });

    const leader = await candidate("a", kubeconfig);
    await leader.leads();
    const next = await candidate("b");
    proxy.hold();
    await next.leads();
    await eventually(() => leader.count("lost") === 1);
    proxy.release();
    await next.writes(100);

    expectOnlyRejected(await writtenTooLate(leader, next));
    expect(next.terms).toEqual(["expired"]);

    await next.kill();
    await leader.leads(2);
    expect(leader.terms).toEqual(["free", "expired"]);
  } finally {
    await proxy.close();
  }
});

test("a leader that is told to stop finishes, releases the Lease, and the next one does not wait for it to expire", async () => {
  const { leader, others } = await candidates("a", "b");
  const next = others[0] ?? leader;
  leader.signal("SIGTERM");
  await next.leads();
  expect(leader.messages.at(-1)).toEqual({ event: "ended" });
  expect(leader.count("lost")).toBe(0);
  expect(next.terms).toEqual(["released"]);
  expect(await ledgerWriters()).toEqual([leader.identity, next.identity]);

  next.signal("SIGTERM");
  await eventually(() => next.count("ended") === 1);
  const { spec } = await client.resource(Lease).get(lease, { namespace, signal });
  expect(spec).toMatchObject({ leaseDurationSeconds: 1, leaseTransitions: 1 });
  expect(spec.holderIdentity ?? "").toBe("");
});
