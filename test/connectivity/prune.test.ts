import { setImmediate as turn } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { PodNetworkConnectivityCheck } from "../../src/api/connectivity/pod-network-connectivity-check.ts";
import { Event } from "../../src/api/core/event.ts";
import { stripCheck } from "../../src/connectivity/history/activity.ts";
import { Pruner, type PrunerOptions } from "../../src/connectivity/pruner.ts";
import { Cache } from "../../src/kube/cache/cache.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { EventRecorder } from "../../src/kube/events/events.ts";
import { createLog } from "../../src/kube/log.ts";
import { MeshedCluster } from "./fixtures/meshed-cluster.ts";

const { signal } = new AbortController();
const log = createLog({ level: "silent" });
const hour = 3_600_000;
let cluster: MeshedCluster;

beforeAll(async () => {
  cluster = await MeshedCluster.start("prune", "shop");
});
afterAll(() => cluster.stop());
afterEach(() => {
  vi.useRealTimers();
});

const checks = () => cluster.client.resource(PodNetworkConnectivityCheck);
const names = async () => (await cluster.checks("shop")).map(({ metadata }) => metadata.name);

interface Course {
  /** It takes the server's clock to be the same. */
  believes: boolean;
  /** After half an hour. */
  meanwhile?: () => Promise<void>;
  /** What it is given more time for, on a machine that has much else to do. */
  until?: () => Promise<boolean>;
}

/** A pruner whose clock is 49 hours ahead, for an hour and a half of its time. */
async function prunes({ believes, meanwhile, until = () => Promise.resolve(true) }: Course) {
  const stopping = new AbortController();
  const ahead = Date.now() + 49 * hour;
  vi.useFakeTimers({ toFake: ["Date", "performance", "setTimeout", "clearTimeout"], now: ahead });
  const client = new KubeClient(cluster.api.access);
  const request = vi.spyOn(client, "request");
  if (believes) Object.defineProperty(client, "serverTime", { get: () => Date.now() });
  const cache = new Cache(client, PodNetworkConnectivityCheck, { namespace: "shop", transform: stripCheck });
  const events = new EventRecorder({ client, component: "test", instance: "test", log });
  cache.start(stopping.signal);
  await cache.waitForSync(stopping.signal);
  // An hour here is a second for the server, which has nothing to say meanwhile.
  const heard: PrunerOptions["checks"] = {
    get: (key) => cache.get(key),
    list: () => cache.list(),
    waitForSync: () => Promise.resolve(),
    get lastHeard() {
      return performance.now();
    },
  };
  const running = Promise.all([new Pruner({ client, checks: heard, events, log }).run(stopping.signal), events.run(stopping.signal)]);
  try {
    for (let step = 0; step < 270 || (step < 3_000 && !(await until())); step += 1) {
      // Short of any deadline, so that only what has no answer at all runs into one.
      await vi.advanceTimersByTimeAsync(20_000);
      await answers(() => request.mock.settledResults.every(({ type }) => type !== "incomplete"));
      if (step === 90) await meanwhile?.();
    }
  } finally {
    stopping.abort();
    await vi.advanceTimersByTimeAsync(60_000);
    await running;
    client.close();
    vi.useRealTimers();
  }
}

/** As long as requests take, by the clock that is not faked: on a busy machine none of them runs into a deadline of the clock that is. */
async function answers(areAllAnswered: () => boolean): Promise<void> {
  const [begun, ms] = [process.hrtime.bigint(), 1_000_000n];
  const lasts = (limit: bigint) => process.hrtime.bigint() - begun < limit * ms;
  while (lasts(10n) || (lasts(5_000n) && !areAllAnswered())) await turn();
}

async function check(name: string, metadata: object = {}): Promise<void> {
  const spec = { sourcePod: name, targetEndpoint: "10.0.0.1:80" };
  await checks().create({ metadata: { name, namespace: "shop", ...metadata }, spec }, { signal });
}

test("the age of a check is by the clock of the server, whatever the pruner's clock", async () => {
  await check("young");
  await prunes({ believes: false });
  expect(await names()).toEqual(["young"]);
});

test("deletes unused checks with an Event and keeps the rest", async () => {
  await check("abandoned");
  await check("renewed");
  await check("living");
  await cluster.pod("shop", "living", "n1", {});
  await check("retired", { annotations: { "plumbline.dev/retired": "2026-11-10T00:00:00Z" } });
  await cluster.pod("shop", "retired", "n1", {});
  await check("owned", { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "n1", uid: "d3e4a7c2-0000-4000-8000-000000000000" }] });
  const events = async () => (await cluster.client.resource(Event).list({ namespace: "shop", signal })).items;
  await prunes({
    believes: true,
    async meanwhile() {
      const successes = [{ time: new Date().toISOString(), success: true }];
      await checks().patchStatus({ name: "renewed", namespace: "shop" }, { status: { successes } }, { signal });
    },
    until: async () => (await events()).length >= 3,
  });
  expect(await names()).toEqual(["living", "owned", "renewed"]);
  expect((await events()).map(({ reason, involvedObject }) => `${involvedObject.name} ${reason}`).toSorted()).toEqual(
    ["abandoned", "retired", "young"].map((name) => `${name} ConnectivityCheckPruned`),
  );
});
