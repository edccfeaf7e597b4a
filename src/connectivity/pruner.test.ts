import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { PodNetworkConnectivityCheck } from "../api/connectivity/pod-network-connectivity-check.ts";
import type { Pod } from "../api/core/pod.ts";
import { type Kind, keyOf } from "../api/kind.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { KubeError } from "../kube/client/error.ts";
import { createLog } from "../kube/log.ts";
import { check } from "./testing/mesh.ts";
import { Pruner, type PrunerOptions } from "./pruner.ts";

const minute = 60_000;
const hour = 60 * minute;
const now = Date.parse("2026-11-16T00:00:00Z");
const log = createLog({ level: "silent" });

beforeEach(() => {
  vi.useFakeTimers({ now });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A check whose last result is so many hours old. */
function quiet(name: string, hours: number, metadata: Partial<PodNetworkConnectivityCheck["metadata"]> = {}): PodNetworkConnectivityCheck {
  const time = new Date(Date.now() - hours * hour).toISOString();
  const born = { creationTimestamp: "2026-10-01T00:00:00Z", ...metadata };
  return check(name, {
    metadata: born,
    spec: { sourcePod: name, targetEndpoint: "a:1" },
    status: { successes: [{ time, success: true }] },
  });
}

/** A pruner at work, on an API of which the test decides what it holds and says. */
class PrunerHarness {
  readonly checks = new Map<string, PodNetworkConnectivityCheck>();
  readonly pods = new Map<string, Pod["status"]>();
  readonly deleted: unknown[] = [];
  readonly events: string[] = [];
  /** How many sources the server was asked after. */
  requests = 0;
  readonly #end = new AbortController();
  /** By how much the server's clock is ahead. */
  serverAheadMs = 0;
  isAway = false;
  failure: KubeError | undefined;
  #heardAt = 0;

  begin(options: Partial<PrunerOptions> = {}): this {
    const { checks, events } = this;
    const serverTime = () => Date.now() + this.serverAheadMs;
    const lastHeard = () => (this.#heardAt = this.isAway ? this.#heardAt : performance.now());
    const client = {
      get serverTime() {
        return serverTime();
      },
      resource: (kind: Kind) => ({
        get: (name: string) => this.#get(kind.kind, name),
        delete: (ref: { name: string }, { uid, resourceVersion }: { uid: string; resourceVersion: string }) =>
          this.#delete(ref.name, uid, resourceVersion),
      }),
    };
    const pruner = new Pruner({
      client: client as unknown as KubeClient,
      checks: {
        get: (key) => checks.get(key),
        list: () => [...checks.values()],
        get lastHeard() {
          return lastHeard();
        },
        waitForSync: () => Promise.resolve(),
      },
      events: { record: (object, { reason, message }) => events.push(`${object.metadata.name} ${reason} ${message}`) },
      log,
      ...options,
    });
    void pruner.run(this.#end.signal);
    return this;
  }

  add(...checks: PodNetworkConnectivityCheck[]): this {
    for (const one of checks) this.checks.set(keyOf(one), one);
    return this;
  }

  end(): void {
    this.#end.abort();
  }

  async #get(kind: string, name: string): Promise<unknown> {
    this.requests += 1;
    if (this.failure?.message.includes(name)) throw this.failure;
    const found = this.pods.get(`${kind} ${name}`);
    if (!found) throw new KubeError("NotFound", "no such thing");
    return Promise.resolve({ metadata: { name }, status: found });
  }

  async #delete(name: string, uid: string, resourceVersion: string): Promise<void> {
    if (this.failure?.code === "Conflict") throw this.failure;
    this.checks.delete(`shop/${name}`);
    this.deleted.push([name, uid, resourceVersion]);
    return Promise.resolve();
  }

  get names(): string[] {
    return [...this.checks.values()].map(({ metadata }) => metadata.name);
  }
}

async function withHarness(harness: PrunerHarness, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } finally {
    harness.end();
    await vi.advanceTimersByTimeAsync(2 * minute);
  }
}

const wait = (ms: number) => vi.advanceTimersByTimeAsync(ms);

test("after an hour of watching, unused checks are deleted by uid and version, with an Event", async () => {
  const harness = new PrunerHarness().add(quiet("gone", 50), quiet("young", 40)).begin();
  await withHarness(harness, async () => {
    await wait(58 * minute);
    expect(harness.deleted).toEqual([]);
    await wait(5 * minute);
    expect(harness.deleted).toEqual([["gone", "uid-of-gone", "1"]]);
    expect(harness.names).toEqual(["young"]);
    expect(harness.events).toEqual([
      "gone ConnectivityCheckPruned No activity since 2026-11-13T22:00:00Z, and its source gone is gone; deleted",
    ]);
    await wait(9 * hour);
    expect(harness.names).toEqual([]);
  });
});

test("an API outage adds an hour, in which sources can write again", async () => {
  const harness = new PrunerHarness().add(quiet("gone", 50), quiet("mute", 50)).begin();
  await withHarness(harness, async () => {
    await wait(50 * minute);
    harness.isAway = true;
    await wait(10 * minute);
    harness.isAway = false;
    await wait(50 * minute);
    expect(harness.deleted).toEqual([]);
    harness.add(quiet("mute", 0));
    await wait(20 * minute);
    expect(harness.deleted).toEqual([["gone", "uid-of-gone", "1"]]);
  });
});

test("a suspend or a clock step adds an hour", async () => {
  const harness = new PrunerHarness().add(quiet("gone", 50)).begin();
  await withHarness(harness, async () => {
    await wait(50 * minute);
    vi.setSystemTime(Date.now() + 72 * hour);
    await wait(50 * minute);
    expect(harness.deleted).toEqual([]);
    await wait(20 * minute);
    expect(harness.deleted).toHaveLength(1);
  });
});

test("a clock that is three days ahead deletes nothing that is recent for the server", async () => {
  const harness = new PrunerHarness().add(quiet("recent", 72)).begin();
  harness.serverAheadMs = -72 * hour;
  await withHarness(harness, async () => {
    await wait(5 * hour);
    expect(harness.names).toEqual(["recent"]);
  });
});

test("new results keep a check, however old they are by our clock", async () => {
  const harness = new PrunerHarness().begin();
  await withHarness(harness, async () => {
    for (let round = 0; round < 18; round += 1) {
      harness.add(quiet("skewed", 100 - round / 6));
      await wait(10 * minute);
    }
    expect(harness.names).toEqual(["skewed"]);
  });
});

test("a recreated check is observed from its own creation", async () => {
  const twin = quiet("twin", 50);
  const harness = new PrunerHarness().add(twin).begin();
  await withHarness(harness, async () => {
    await wait(55 * minute);
    harness.add({ ...twin, metadata: { ...twin.metadata, uid: "another" } });
    await wait(50 * minute);
    expect(harness.deleted).toEqual([]);
    await wait(20 * minute);
    expect(harness.deleted).toEqual([["twin", "another", "1"]]);
  });
});

test("a check that changes before its deletion is left to the next run", async () => {
  const harness = new PrunerHarness().add(quiet("busy", 50)).begin();
  harness.failure = new KubeError("Conflict", "the object has moved on");
  await withHarness(harness, async () => {
    await wait(2 * hour);
    expect(harness.names).toEqual(["busy"]);
    expect(harness.events).toEqual([]);
    harness.failure = undefined;
    await wait(2 * minute);
    expect(harness.names).toEqual([]);
  });
});

test("a running pod keeps its check without results, a completed one does not", async () => {
  const harness = new PrunerHarness()
    .add(quiet("lives", 50), quiet("ended", 50), quiet("retired", 50, { annotations: { "plumbline.dev/retired": "x" } }))
    .begin();
  harness.pods.set("Pod lives", { phase: "Running" }).set("Pod retired", { phase: "Running" }).set("Pod ended", { phase: "Failed" });
  await withHarness(harness, async () => {
    await wait(2 * hour);
    expect(harness.names).toEqual(["lives"]);
  });
});

test("a check of a node in Plumbline's namespace stays while the Node exists", async () => {
  const metadata = { namespace: "shop", annotations: { "plumbline.dev/node": "n1" } };
  const harness = new PrunerHarness().add(quiet("n1", 50, metadata)).begin({ systemNamespace: "shop" });
  harness.pods.set("Node n1", {});
  await withHarness(harness, async () => {
    await wait(2 * hour);
    expect(harness.names).toEqual(["n1"]);
    harness.pods.clear();
    await wait(2 * minute);
    expect(harness.names).toEqual([]);
  });
});

test("a check that a mesh wants stays", async () => {
  const harness = new PrunerHarness()
    .add(quiet("wanted", 50), quiet("gone", 50))
    .begin({ wants: ({ metadata }) => metadata.name === "wanted" });
  await withHarness(harness, async () => {
    await wait(2 * hour);
    expect(harness.names).toEqual(["wanted"]);
  });
});

test("a check whose source may not be read does not block the others", async () => {
  const harness = new PrunerHarness().add(quiet("secret", 50), quiet("gone", 50)).begin();
  harness.failure = new KubeError("Forbidden", "secret must not be read");
  await withHarness(harness, async () => {
    await wait(2 * hour);
    expect(harness.names).toEqual(["secret"]);
  });
});

test("a dry run deletes nothing and lists each check once", async () => {
  const logged = vi.spyOn(log, "info");
  const harness = new PrunerHarness().add(quiet("gone", 50)).begin({ dryRun: true });
  await withHarness(harness, async () => {
    await wait(3 * hour);
    expect(harness.names).toEqual(["gone"]);
    expect(logged.mock.calls.map(([, text]) => text)).toEqual(["check would be deleted"]);
  });
});

test("many checks are deleted in batches of thirty, a minute apart", async () => {
  const harness = new PrunerHarness().add(...Array.from({ length: 100 }, (_, at) => quiet(`gone-${at}`, 50))).begin();
  await withHarness(harness, async () => {
    await wait(58 * minute);
    const each: number[] = [];
    for (let second = 0, before = 0; second < 600; second += 1) {
      await wait(1_000);
      each.push(harness.deleted.length - before);
      before = harness.deleted.length;
    }
    expect(harness.names).toEqual([]);
    expect(Math.max(...each)).toBe(1);
    const begun = each.indexOf(1);
    expect(each.slice(begun, begun + 75).filter((count) => count === 1)).toHaveLength(30);
  });
});

test("existing sources are read rarely and never all at once, and the other checks are still deleted", async () => {
  const harness = new PrunerHarness();
  for (let at = 0; at < 250; at += 1) {
    harness.add(quiet(`live-${at}`, 50));
    harness.pods.set(`Pod live-${at}`, { phase: "Running" });
  }
  harness.add(quiet("gone", 50)).begin();
  await withHarness(harness, async () => {
    await wait(hour);
    for (let minutes = 0; minutes < 10; minutes += 1) {
      const before = harness.requests;
      await wait(minute);
      expect(harness.requests - before).toBeLessThanOrEqual(2 * 100);
    }
    expect(harness.requests).toBe(251);
    expect(harness.deleted).toHaveLength(1);
    // Another of them goes.
    harness.pods.delete("Pod live-7");
    await wait(hour + 5 * minute);
    expect(harness.deleted).toHaveLength(2);
  });
});

test("a dry run reads sources no more often", async () => {
  const harness = new PrunerHarness().add(quiet("gone", 50)).begin({ dryRun: true });
  await withHarness(harness, async () => {
    await wait(4.5 * hour);
    expect([harness.requests, harness.names]).toEqual([4, ["gone"]]);
  });
});
