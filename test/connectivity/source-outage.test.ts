import { nodeAnnotation } from "../../src/api/annotations.ts";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { accessAs, installIdentities } from "../../lab/kube/identities.ts";
import { installCrds } from "../../lab/kube/install-crds.ts";
import { PodNetworkConnectivityCheck } from "../../src/api/connectivity/pod-network-connectivity-check.ts";
import { Event } from "../../src/api/core/event.ts";
import { Namespace } from "../../src/api/core/namespace.ts";
import { Node } from "../../src/api/core/node.ts";
import type { ObjectMeta } from "../../src/api/kind.ts";
import { metaTime } from "../../src/api/time.ts";
import { CHECKS, ROUTER_HOST_DEFAULTS } from "../../src/cli/shared/agent-options.ts";
import { addAgentComponents } from "../../src/cli/shared/agent-components.ts";
import { replay } from "../../src/connectivity/journal/replay.ts";
import { historyState } from "../../src/connectivity/history/reduce.ts";
import { addChecks } from "../../src/connectivity/checker/add-checks.ts";
import { parsePrefix } from "../../src/ip/prefix.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { Manager } from "../../src/kube/controller/manager.ts";
import { EventRecorder } from "../../src/kube/events/events.ts";
import { createLog } from "../../src/kube/log.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";
import { CuttingProxy } from "../support/disconnecting-proxy.ts";
import { Listener } from "./fixtures/listener.ts";
import { p2pncKubeconfig } from "./fixtures/kubeconfig.ts";
import { P2pncProcess } from "./fixtures/p2pnc-process.ts";

// What a source does while the real API server is away.

const { signal } = new AbortController();
const namespace = "shop";
const own = "plumbline-system";
const MINUTE = 60_000;
const log = createLog({ level: "silent" });
const [realSetImmediate, realSetTimeout] = [setImmediate, setTimeout];
let api: SuiteApiServer;
let admin: KubeClient;
let directory: string;

beforeAll(async () => {
  api = await apiServer("source-outage");
  admin = new KubeClient(api.access);
  directory = await mkdtemp(join(tmpdir(), "plumbline-source-outage-"));
  await installCrds(admin, [PodNetworkConnectivityCheck], signal);
  await installIdentities(admin, signal);
  await admin.resource(Namespace).create({ metadata: { name: namespace } }, { signal });
  await admin.resource(Node).create({ metadata: { name: "worker0" } }, { signal });
});
afterEach(() => {
  vi.useRealTimers();
});
afterAll(async () => {
  admin.close();
  await api.stop();
  await rm(directory, { recursive: true, force: true });
});

async function create(name: string, sourcePod: string, targetEndpoint: string, more: Partial<ObjectMeta> = {}): Promise<void> {
  await admin
    .resource(PodNetworkConnectivityCheck)
    .create({ metadata: { name, namespace, ...more }, spec: { sourcePod, targetEndpoint } }, { signal });
}

const statusOf = async (name: string, where = namespace) =>
  (await admin.resource(PodNetworkConnectivityCheck).get(name, { namespace: where, signal })).status;
const eventually = <T>(expectation: () => Promise<T> | T) => vi.waitFor(expectation, { timeout: 60_000, interval: 100 });
/** By a clock that is not faked, which goes ten times slower: who paces what it writes need not be waited for. */
async function soon(expectation: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await expectation();
    } catch (error) {
      if (attempt === 600) throw error;
    }
    await vi.advanceTimersByTimeAsync(1_000);
    await new Promise((resolve) => realSetTimeout(resolve, 100));
  }
}

const until = (isSo: () => Promise<boolean>) => eventually(async () => expect(await isSo()).toBe(true));

/** By message: how often the API received it. */
async function eventsOf(name: string): Promise<string[]> {
  const { items } = await admin.resource(Event).list({ namespace, fieldSelector: `involvedObject.name=${name}`, signal });
  return items.flatMap(({ reason, message, count = 1 }) => Array.from({ length: count }, () => `${reason} ${message}`));
}

/** When each target began to fail, and when it was reached again, as the source observed it. */
class World {
  readonly flips = new Map<string, number[]>();
  readonly #origin: number;
  tries = 0;

  constructor(origin: number) {
    this.#origin = origin;
  }

  /** Five outages in ten hours, of other lengths and at other times for each target. */
  isBroken(port: number, at: number): boolean {
    const minute = (at - this.#origin) / MINUTE - 5 * port;
    return minute > 20 && minute < 560 && minute % 100 > 80 - port;
  }

  see(port: number, at: number): boolean {
    const isBroken = this.isBroken(port, at);
    const key = `c${port}`;
    const flips = this.flips.get(key) ?? [];
    this.tries += 1;
    if (isBroken !== (flips.length % 2 === 1)) this.flips.set(key, [...flips, at]);
    return !isBroken;
  }
}

test("ten hours without the API server lose no transition, and each has one Event", async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true, now: Date.now() });
  const world = new World(Date.now());
  const ports = [1, 2, 3];
  for (const port of ports) await create(`c${port}`, "p1", `10.0.0.1:${port}`);
  const client = new KubeClient(api.access);
  const manager = new Manager({ client, log });
  const events = new EventRecorder({ client, component: "test", instance: "p1", log });
  addChecks({
    manager,
    client,
    log,
    events,
    name: "p1",
    selection: { namespace },
    targetOf: ({ spec }) => (spec.sourcePod === "p1" ? spec.targetEndpoint : undefined),
    stateDirectory: join(directory, "ten-hours"),
    allowed: [],
    probe({ text, port }, seq) {
      const at = Date.now();
      const reachable = world.see(port, at);
      const message = reachable ? `Connected to ${text}` : `Failed connect to ${text}; No route to host`;
      const action = { outcome: reachable ? "ConnectDone" : "ConnectError", at, latencyMs: 1, message } as const;
      return Promise.resolve({ seq, at, target: text, actions: [action], reachable });
    },
  });
  manager.add(events, { phase: "writers" });
  const stop = new AbortController();
  const ended = manager.run(stop.signal);
  await eventually(async () => {
    for (const port of ports) expect((await statusOf(`c${port}`))?.conditions?.[0]?.status).toBe("True");
  });

  await api.server.kill();
  for (let minute = 0; minute < 600; minute++) {
    await vi.advanceTimersByTimeAsync(MINUTE);
    await new Promise((resolve) => realSetImmediate(resolve));
  }
  await api.server.restart();

  expect(world.tries).toBeGreaterThan(3 * 590);
  await soon(async () => {
    for (const port of ports) expect((await statusOf(`c${port}`))?.outages).toHaveLength(5);
  });
  for (const port of ports) {
    const { outages = [], conditions } = (await statusOf(`c${port}`)) ?? {};
    const expected = (world.flips.get(`c${port}`) ?? []).map((at) => metaTime(new Date(at)));
    expect(outages.toReversed().flatMap(({ start, end }) => [start, end])).toEqual(expected);
    expect(conditions?.[0]).toMatchObject({ status: "True", lastTransitionTime: expected.at(-1) });
    await soon(async () => expect(await eventsOf(`c${port}`)).toHaveLength(10));
    const texts = await eventsOf(`c${port}`);
    expect(new Set(texts).size).toBe(10);
    expect(texts.filter((text) => text.startsWith("ConnectivityOutageDetected"))).toHaveLength(5);
  }
  stop.abort();
  await ended;
});

test("a source that is killed at any moment of an API server outage loses nothing that was on its disk", async () => {
  const listener = await Listener.start();
  const state = join(directory, "killed");
  // Four times away and back, and a server takes seconds to start.
  const way = await CuttingProxy.before(api.server.port, 1);
  way.calm = true;
  const kubeconfig = join(directory, "kubeconfig");
  const direct = await readFile(await p2pncKubeconfig(api, "web", kubeconfig), "utf8");
  await writeFile(kubeconfig, direct.replace(api.server.url, `https://127.0.0.1:${way.port}`), { mode: 0o600 });
  await create("killed", "p2", listener.target);
  const start = () =>
    new P2pncProcess(
      ["check", "tcp-endpoint", "--kubeconfig", kubeconfig, "--state-dir", state, "--interval", "100ms", "--allow-target", "127.0.0.0/8"],
      { POD_NAME: "p2", POD_NAMESPACE: namespace },
    );
  const onDisk = async () => {
    const [only] = replay(await readFile(join(state, "connectivity", namespace, "p2", "journal"))).checks.values();
    return only ? historyState(only.history).outages : [];
  };
  let child = start();
  let known = 0;
  for (const moment of ["an outage began", "an outage ended", "another one began", "nothing was new"]) {
    await eventually(async () => expect((await statusOf("killed"))?.conditions?.[0]?.status).toBe("True"));
    way.blocked = true;
    way.cutAll();
    const written = known;
    // Events tell outages apart by the second in which they began.
    await sleep(1_000);
    await listener.down();
    known += 1;
    await until(async () => (await onDisk()).length === known);
    if (moment !== "an outage began") {
      await listener.up();
      await until(async () => (await onDisk())[0]?.end !== undefined);
    }
    if (moment === "another one began") {
      await sleep(1_000);
      await listener.down();
      known += 1;
      await until(async () => (await onDisk()).length === known);
    }
    if (moment === "nothing was new") await sleep(500);
    await child.stop("SIGKILL");
    const acknowledged = await onDisk();
    expect((await statusOf("killed"))?.outages ?? []).toHaveLength(written);
    await listener.up();
    way.blocked = false;
    child = start();
    await eventually(async () => expect((await statusOf("killed"))?.outages).toHaveLength(known));
    const starts = (await statusOf("killed"))?.outages?.map(({ start }) => start);
    expect([moment, starts]).toEqual([moment, acknowledged.map((outage) => metaTime(new Date(outage.start)))]);
    await eventually(async () => expect(await eventsOf("killed")).toHaveLength(2 * known));
  }
  expect(new Set(await eventsOf("killed")).size).toBe(2 * known);
  await child.stop("SIGKILL");
  await listener.down();
  await way.stop();
});

test("an agent that starts without an API server continues its checks and loses no result", async () => {
  const listener = await Listener.start();
  const state = join(directory, "agent");
  await create("of-node", "worker0", listener.target, {
    labels: { [nodeAnnotation]: "worker0" },
    annotations: { [nodeAnnotation]: "worker0" },
    namespace: own,
  });
  const whileAgentRuns = async (work: () => Promise<void>) => {
    const client = new KubeClient(accessAs({ agentOf: "worker0" }, api.access));
    const manager = new Manager({ client, log });
    const options = { ...ROUTER_HOST_DEFAULTS, stateDirectory: state };
    const checks = { ...CHECKS, allowTarget: [parsePrefix("127.0.0.0/8")], checkInterval: 100 };
    const agent = addAgentComponents({
      manager,
      client,
      log,
      node: "worker0",
      namespace: own,
      hostOptions: options,
      startFrr: false,
      checks,
    });
    const stop = new AbortController();
    const ended = agent.run(stop.signal, { restoreAfterMs: 100 });
    try {
      await work();
    } finally {
      stop.abort();
      await ended;
    }
  };
  const onDisk = async () => {
    const [only] = replay(await readFile(join(state, "connectivity", "journal"))).checks.values();
    return only ? historyState(only.history).outages : [];
  };
  await whileAgentRuns(async () => {
    await eventually(async () => expect((await statusOf("of-node", own))?.conditions?.[0]?.status).toBe("True"));
  });
  await api.server.kill();
  await listener.down();
  await whileAgentRuns(async () => {
    await until(async () => (await onDisk()).length === 1);
  });
  await whileAgentRuns(async () => {
    await listener.up();
    await until(async () => (await onDisk())[0]?.end !== undefined);
    await api.server.restart();
    await eventually(async () => expect((await statusOf("of-node", own))?.outages).toHaveLength(1));
    await listener.down();
    await eventually(async () => expect((await statusOf("of-node", own))?.outages).toHaveLength(2));
  });
  const starts = (await statusOf("of-node", own))?.outages?.map(({ start }) => start);
  expect(starts).toEqual((await onDisk()).map(({ start }) => metaTime(new Date(start))));
});
