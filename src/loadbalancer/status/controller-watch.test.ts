import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Kind, KubeObject } from "../../api/kind.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { KubeError } from "../../kube/client/error.ts";
import { createLog } from "../../kube/log.ts";
import { controllerWatch } from "./controller-watch.ts";

const seconds = (count: number) => vi.advanceTimersByTimeAsync(count * 1_000);
const valid = { type: "Valid", status: "True", reason: "ConfigurationValid", message: "", lastTransitionTime: "2026-11-16T08:00:00Z" };

const report = (name: string, status: object) => ({ metadata: { name, resourceVersion: "1" }, status });

/** The leader's Lease and what the controllers reported. */
class Cluster {
  renewals = 0;
  hasLease = true;
  isAway = false;
  gets = 0;
  readonly marks: string[] = [];
  statuses: Record<string, KubeObject & { status: object }> = {
    ConfigurationState: report("controller", { result: "Valid", conditions: [valid] }),
    ConfigurationStatus: report("config-status", { validConfig: true, conditions: [valid] }),
  };

  client(): KubeClient {
    const resource = ({ kind }: Kind) => ({
      get: () => {
        if (this.isAway) return Promise.reject(new KubeError("Unreachable", "connection refused"));
        if (kind !== "Lease") return Promise.resolve(this.statuses[kind]);
        this.gets += 1;
        if (!this.hasLease) return Promise.reject(new KubeError("NotFound", "not found"));
        return Promise.resolve({ spec: { renewTime: String(this.renewals) } });
      },
      patchStatus: (
        { name }: { name: string },
        patch: { status: { result?: string; validConfig?: null; conditions: (typeof valid)[] } },
      ) => {
        const { conditions, ...fields } = patch.status;
        this.marks.push(`${name} ${JSON.stringify(fields)} ${conditions.map(({ status, reason }) => `${status} ${reason}`).join()}`);
        const existing = this.statuses[kind];
        if (existing) this.statuses[kind] = { ...existing, status: { ...existing.status, ...patch.status } };
        return Promise.resolve();
      },
    });
    return { resource } as unknown as KubeClient;
  }
}

const MARKS = ['controller {"result":"Unknown"} Unknown ControllerSilent', 'config-status {"validConfig":null} Unknown ControllerSilent'];
let cluster: Cluster;
let stopping: AbortController;
let running: Promise<void>;

beforeEach(() => {
  vi.useFakeTimers();
  cluster = new Cluster();
  stopping = new AbortController();
});
afterEach(async () => {
  stopping.abort();
  await running;
  vi.useRealTimers();
});

function start(agentsBefore = 0): void {
  const where = { namespace: "plumbline-system", lease: "plumbline-controller", metallbNamespace: "metallb-system" };
  const watching = controllerWatch({
    ...where,
    client: cluster.client(),
    log: createLog({ level: "silent" }),
    agentsBefore: () => agentsBefore,
  });
  running = watching.run(stopping.signal);
}

test("reports of controllers that renew their Lease stay; those of dead ones are marked, once", async () => {
  start();
  for (; cluster.renewals < 60; cluster.renewals += 1) await seconds(2);
  expect(cluster.marks).toEqual([]);
  await seconds(25);
  expect(cluster.marks).toEqual([]);
  await seconds(30);
  expect(cluster.marks).toEqual(MARKS);
  await seconds(600);
  expect(cluster.marks).toEqual(MARKS);
});

test("a deleted Lease counts as not renewed, and a Lease that never existed as no election", async () => {
  cluster.hasLease = false;
  start();
  await seconds(120);
  expect(cluster.marks).toEqual([]);
  cluster.hasLease = true;
  await seconds(15);
  cluster.hasLease = false;
  await seconds(60);
  expect(cluster.marks).toEqual(MARKS);
});

test("an API server outage does not count: the timeout starts again when it is back", async () => {
  start();
  await seconds(20);
  cluster.isAway = true;
  await seconds(600);
  cluster.isAway = false;
  await seconds(25);
  expect(cluster.marks).toEqual([]);
  await seconds(35);
  expect(cluster.marks).toEqual(MARKS);
});

test("an agent after many others checks more rarely, and still marks if the earlier ones do not", async () => {
  start(500);
  await seconds(1_200);
  expect(cluster.gets).toBeLessThan(6);
  expect(cluster.marks).toEqual(MARKS);
});
