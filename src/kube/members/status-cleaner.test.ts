import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Lease } from "../../api/core/lease.ts";
import type { Node } from "../../api/core/node.ts";
import type { Kind, KubeObject } from "../../api/kind.ts";
import type { Change } from "../cache/cache.ts";
import type { KubeClient } from "../client/client.ts";
import { KubeError } from "../client/error.ts";
import { createLog } from "../log.ts";
import { WriteBudget } from "../status/budget.ts";
import { agentsNotReporting } from "../metrics.ts";
import { statusCleaner, type StatusCleanerOptions, type ReportedKind, reportedNodes } from "./status-cleaner.ts";

interface Report extends KubeObject {
  status?: { known: boolean };
}
const Report: Kind<Report> = { group: "test", version: "v1", kind: "Report", plural: "reports", scope: "Namespaced" };

const since = new Date("2026-11-15T10:30:00Z");
const durationMs = 30_000;

/** One node with one report, as the cluster has it and as the status cleaner's caches show it. */
class Cluster {
  readonly calls: string[] = [];
  readonly lease: Lease = { metadata: { name: "agent-a", namespace: "system", uid: "l", resourceVersion: "7" }, spec: {} };
  silent = true;
  nodeCached = true;
  nodeExists = true;
  absenceMs: number | undefined;
  podAbsent = true;
  /** As the watch of the Leases has it, and as the server has it. */
  partOff = false;
  partOffOnServer = true;
  report: Report | undefined = this.#report("1", true);
  failure: (call: string) => KubeError | undefined = () => undefined;
  #version = 1;
  #reportListener: (change: Change<Report>) => void = () => {};
  #nodeListener: (change: Change<Node>) => void = () => {};

  readonly reported: ReportedKind<Report> = {
    kind: Report,
    cache: {
      list: () => (this.report ? [this.report] : []),
      subscribe: (listener) => {
        this.#reportListener = listener;
        return () => {};
      },
      waitForSync: () => Promise.resolve(),
    },
    nodeOf: () => "a",
    part: "router",
    unknown: ({ status }) => (status?.known ? { known: false } : undefined),
  };

  options(): StatusCleanerOptions {
    return {
      client: this.#client(),
      namespace: "system",
      agents: {
        durationMs,
        silence: (node) => (this.silent && node === "a" ? { node, since } : undefined),
        lacks: () => this.partOff,
        subscribe: (enqueue) => {
          enqueue("a");
          return () => {};
        },
        ready: () => Promise.resolve(),
      },
      kinds: [this.reported],
      leases: { get: (key) => (key === "system/agent-a" ? this.lease : undefined) },
      nodes: {
        get: () => (this.nodeCached ? node : undefined),
        subscribe: (listener) => {
          this.#nodeListener = listener;
          return () => {};
        },
        waitForSync: () => Promise.resolve(),
      },
      budget: new WriteBudget(),
      log: createLog({ level: "silent" }),
    };
  }

  /** The agent, or someone else, writes the report as known again. */
  repaired(): void {
    this.#version += 1;
    this.report = this.#report(String(this.#version), true);
    this.#reportListener({ type: "updated", object: this.report, old: this.report });
  }

  nodeDeleted(): void {
    this.nodeCached = false;
    this.nodeExists = false;
    this.#nodeListener({ type: "deleted", object: node });
  }

  #report(resourceVersion: string, known: boolean): Report {
    return { metadata: { name: "a", namespace: "routers", uid: "r", resourceVersion }, status: { known } };
  }

  #client(): KubeClient {
    const called = (call: string) => {
      this.calls.push(call);
      const error = this.failure(call);
      if (error) throw error;
    };
    const resource = ({ kind }: Kind) => ({
      get: async () => {
        called(`get ${kind}`);
        if (kind === "Lease") return { metadata: { annotations: { "plumbline.dev/parts": this.partOffOnServer ? "" : "router" } } };
        if (!this.nodeExists) throw new KubeError("NotFound", "not found");
        return node;
      },
      patchStatus: async (_ref: object, { status }: { status: object }, { resourceVersion }: { resourceVersion: string }) => {
        called(`mark ${kind} ${resourceVersion} ${JSON.stringify(status)}`);
        this.#version += 1;
        this.report = this.#report(String(this.#version), false);
      },
      delete: async (_ref: object, { uid, resourceVersion }: { uid: string; resourceVersion: string }) => {
        called(`delete ${kind} ${uid} ${resourceVersion}`);
        if (kind === "Report") this.report = undefined;
      },
    });
    return { resource } as unknown as KubeClient;
  }
}

const node: Node = { metadata: { name: "a" }, spec: {} };
const mark = 'mark Report 1 {"known":false}';
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

function start(options: Partial<StatusCleanerOptions> = {}): void {
  running = statusCleaner({ ...cluster.options(), ...options }).run(stopping.signal);
}

const silentAgents = async () => (await agentsNotReporting.get()).values[0]?.value;
const seconds = (count: number) => vi.advanceTimersByTimeAsync(count * 1_000);

test("silent agents are counted until they return or are gone, and only by the leader", async () => {
  start();
  await seconds(1);
  expect(await silentAgents()).toBe(1);
  cluster.silent = false;
  cluster.repaired();
  await seconds(1);
  expect(await silentAgents()).toBe(0);
  cluster.silent = true;
  cluster.repaired();
  await seconds(1);
  expect(await silentAgents()).toBe(1);
  cluster.nodeDeleted();
  await seconds(1);
  expect(await silentAgents()).toBe(0);
});

test("the reported nodes are those of all objects of all kinds", () => {
  expect([...reportedNodes([cluster.reported, cluster.reported])]).toEqual(["a", "a"]);
});

describe("marking", () => {
  test("is one write with the resourceVersion that was read, and none while nothing changes", async () => {
    start();
    await seconds(600);
    expect(cluster.calls).toEqual([mark]);
  });

  test("does not happen to an agent that is not silent, or is no longer silent before the write", async () => {
    cluster.silent = false;
    start();
    await seconds(60);
    expect(cluster.calls).toEqual([]);

    stopping.abort();
    await running;
    stopping = new AbortController();
    cluster.silent = true;
    const budget = new WriteBudget();
    vi.spyOn(budget, "admit").mockImplementation(async () => {
      cluster.silent = false;
      return { done: () => {}, unused: () => {} };
    });
    start({ budget });
    await seconds(60);
    expect(cluster.calls).toEqual([]);
  });

  test("of a status that its agent keeps writing without a heartbeat happens once per duration", async () => {
    start();
    await seconds(1);
    for (let write = 0; write < 60; write += 1) {
      cluster.repaired();
      await seconds(1);
    }
    expect(cluster.calls.length).toBeGreaterThanOrEqual(2);
    expect(cluster.calls.length).toBeLessThanOrEqual(3);
  });

  test("with a Conflict waits for the next event, and other failures are retried", async () => {
    cluster.failure = () => new KubeError("Conflict", "the object has been modified");
    start();
    await seconds(600);
    expect(cluster.calls).toEqual([mark]);
    cluster.failure = () => undefined;
    cluster.repaired();
    await seconds(1);
    expect(cluster.calls).toHaveLength(2);

    let failures = 0;
    cluster.failure = () => {
      failures += 1;
      return failures < 3 ? new KubeError("Unreachable", "connection refused") : undefined;
    };
    await seconds(durationMs / 1_000);
    cluster.repaired();
    await seconds(10);
    expect(cluster.calls).toHaveLength(5);
  });
});

describe("a part that a live agent has turned off", () => {
  beforeEach(() => {
    cluster.silent = false;
    cluster.partOff = true;
  });

  test("has its status marked at once and deleted after a full duration, and the Lease stays", async () => {
    start();
    await seconds(durationMs / 1_000 - 1);
    expect(cluster.calls).toEqual([mark]);
    await seconds(2);
    expect(cluster.calls).toEqual([mark, "get Lease", "delete Report r 2"]);
    await seconds(600);
    expect(cluster.calls).toHaveLength(3);
  });

  test("keeps its status when it is back before that", async () => {
    start();
    await seconds(20);
    cluster.partOff = false;
    cluster.repaired();
    await seconds(5);
    cluster.partOff = true;
    cluster.repaired();
    await seconds(20);
    expect(cluster.calls.filter((call) => call.startsWith("delete"))).toEqual([]);
    expect(await silentAgents()).toBe(0);
  });

  test("keeps its status when the Lease on the server lists the part as running", async () => {
    cluster.partOffOnServer = false;
    start();
    await seconds(60);
    expect(cluster.calls).toEqual([mark, "get Lease"]);
  });
});

describe("deleting", () => {
  test("reads the Node from the server, not only from the cache", async () => {
    cluster.nodeCached = false;
    start();
    await seconds(10);
    expect(cluster.calls).toEqual(["get Node", mark]);
  });

  test("deletes the statuses first and the Lease last, with the resourceVersion that was read", async () => {
    start();
    await seconds(1);
    cluster.nodeDeleted();
    await seconds(1);
    expect(cluster.calls).toEqual([mark, "get Node", "delete Report r 2", "delete Lease l 7"]);
  });

  test("keeps the Lease when the status was written meanwhile", async () => {
    cluster.nodeDeleted();
    cluster.failure = (call) => (call.startsWith("delete Report") ? new KubeError("Conflict", "modified") : undefined);
    start();
    await seconds(1);
    expect(cluster.calls.filter((call) => call.startsWith("delete Lease"))).toEqual([]);
  });

  test("does not happen to an agent that is not silent, although its Node is deleted", async () => {
    cluster.silent = false;
    start();
    cluster.nodeDeleted();
    await seconds(60);
    expect(cluster.calls).toEqual([]);
  });

  test("requires a full duration without a Pod, and no Pod on the server, if agents are Pods", async () => {
    const pods = {
      begin: () => {},
      absenceMs: () => cluster.absenceMs,
      isAbsent: () => Promise.resolve(cluster.podAbsent),
    };
    cluster.absenceMs = durationMs - 1;
    start({ pods });
    await seconds(61);
    expect(cluster.calls).toEqual([mark]);
    cluster.absenceMs = durationMs;
    cluster.podAbsent = false;
    await seconds(31);
    expect(cluster.calls).toEqual([mark]);
    cluster.podAbsent = true;
    await seconds(31);
    expect(cluster.calls).toEqual([mark, "delete Report r 2", "delete Lease l 7"]);
  });
});
