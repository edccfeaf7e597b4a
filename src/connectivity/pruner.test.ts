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

/** A check that was last heard of so many hours ago. */
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
class Stage {
  readonly checks = new Map<string, PodNetworkConnectivityCheck>();
  readonly pods = new Map<string, Pod["status"]>();
  readonly deleted: unknown[] = [];
  readonly told: string[] = [];
  /** How many sources the server was asked after. */
  asked = 0;
  readonly #end = new AbortController();
  /** By how much the server's clock is ahead. */
  serverAheadMs = 0;
  isAway = false;
  refusal: KubeError | undefined;
  #heardAt = 0;

  begin(options: Partial<PrunerOptions> = {}): this {
    const { checks, told } = this;
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
      events: { record: (object, { reason, message }) => told.push(`${object.metadata.name} ${reason} ${message}`) },
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
    this.asked += 1;
    if (this.refusal?.message.includes(name)) throw this.refusal;
    const found = this.pods.get(`${kind} ${name}`);
    if (!found) throw new KubeError("NotFound", "no such thing");
    return Promise.resolve({ metadata: { name }, status: found });
  }

  async #delete(name: string, uid: string, resourceVersion: string): Promise<void> {
    if (this.refusal?.code === "Conflict") throw this.refusal;
    this.checks.delete(`shop/${name}`);
    this.deleted.push([name, uid, resourceVersion]);
    return Promise.resolve();
  }

  get names(): string[] {
    return [...this.checks.values()].map(({ metadata }) => metadata.name);
  }
}

async function staged(stage: Stage, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } finally {
    stage.end();
    await vi.advanceTimersByTimeAsync(2 * minute);
  }
}

const wait = (ms: number) => vi.advanceTimersByTimeAsync(ms);

test("after an hour of watching, checks go that nobody has a use for, each by its uid and version, and it is told", async () => {
  const stage = new Stage().add(quiet("gone", 50), quiet("young", 40)).begin();
  await staged(stage, async () => {
    await wait(58 * minute);
    expect(stage.deleted).toEqual([]);
    await wait(5 * minute);
    expect(stage.deleted).toEqual([["gone", "uid-of-gone", "1"]]);
    expect(stage.names).toEqual(["young"]);
    expect(stage.told).toEqual([
      "gone ConnectivityCheckPruned No activity since 2026-11-13T22:00:00Z, and its source gone is gone; deleted",
    ]);
    await wait(9 * hour);
    expect(stage.names).toEqual([]);
  });
});

test("an API that was away costs another hour, in which those who could not write can", async () => {
  const stage = new Stage().add(quiet("gone", 50), quiet("mute", 50)).begin();
  await staged(stage, async () => {
    await wait(50 * minute);
    stage.isAway = true;
    await wait(10 * minute);
    stage.isAway = false;
    await wait(50 * minute);
    expect(stage.deleted).toEqual([]);
    stage.add(quiet("mute", 0));
    await wait(20 * minute);
    expect(stage.deleted).toEqual([["gone", "uid-of-gone", "1"]]);
  });
});

test("a machine that slept, or a clock that was set, costs another hour", async () => {
  const stage = new Stage().add(quiet("gone", 50)).begin();
  await staged(stage, async () => {
    await wait(50 * minute);
    vi.setSystemTime(Date.now() + 72 * hour);
    await wait(50 * minute);
    expect(stage.deleted).toEqual([]);
    await wait(20 * minute);
    expect(stage.deleted).toHaveLength(1);
  });
});

test("a clock that is three days ahead deletes nothing that is young for the server", async () => {
  const stage = new Stage().add(quiet("recent", 72)).begin();
  stage.serverAheadMs = -72 * hour;
  await staged(stage, async () => {
    await wait(5 * hour);
    expect(stage.names).toEqual(["recent"]);
  });
});

test("results that keep coming keep a check, however old they are by our clock", async () => {
  const stage = new Stage().begin();
  await staged(stage, async () => {
    for (let round = 0; round < 18; round += 1) {
      stage.add(quiet("skewed", 100 - round / 6));
      await wait(10 * minute);
    }
    expect(stage.names).toEqual(["skewed"]);
  });
});

test("a namesake that somebody made anew is watched from its own beginning", async () => {
  const twin = quiet("twin", 50);
  const stage = new Stage().add(twin).begin();
  await staged(stage, async () => {
    await wait(55 * minute);
    stage.add({ ...twin, metadata: { ...twin.metadata, uid: "another" } });
    await wait(50 * minute);
    expect(stage.deleted).toEqual([]);
    await wait(20 * minute);
    expect(stage.deleted).toEqual([["twin", "another", "1"]]);
  });
});

test("a check that changes in the last moment is left to the next look", async () => {
  const stage = new Stage().add(quiet("busy", 50)).begin();
  stage.refusal = new KubeError("Conflict", "the object has moved on");
  await staged(stage, async () => {
    await wait(2 * hour);
    expect(stage.names).toEqual(["busy"]);
    expect(stage.told).toEqual([]);
    stage.refusal = undefined;
    await wait(2 * minute);
    expect(stage.names).toEqual([]);
  });
});

test("a pod that lives keeps its check without results; one that has ended does not", async () => {
  const stage = new Stage()
    .add(quiet("lives", 50), quiet("ended", 50), quiet("retired", 50, { annotations: { "plumbline.dev/retired": "x" } }))
    .begin();
  stage.pods.set("Pod lives", { phase: "Running" }).set("Pod retired", { phase: "Running" }).set("Pod ended", { phase: "Failed" });
  await staged(stage, async () => {
    await wait(2 * hour);
    expect(stage.names).toEqual(["lives"]);
  });
});

test("a node's check in Plumbline's own namespace stays while the Node is there", async () => {
  const metadata = { namespace: "shop", annotations: { "plumbline.dev/node": "n1" } };
  const stage = new Stage().add(quiet("n1", 50, metadata)).begin({ systemNamespace: "shop" });
  stage.pods.set("Node n1", {});
  await staged(stage, async () => {
    await wait(2 * hour);
    expect(stage.names).toEqual(["n1"]);
    stage.pods.clear();
    await wait(2 * minute);
    expect(stage.names).toEqual([]);
  });
});

test("what a mesh asks for stays", async () => {
  const stage = new Stage().add(quiet("wanted", 50), quiet("gone", 50)).begin({ wants: ({ metadata }) => metadata.name === "wanted" });
  await staged(stage, async () => {
    await wait(2 * hour);
    expect(stage.names).toEqual(["wanted"]);
  });
});

test("one about which nothing may be asked stands in nobody's way", async () => {
  const stage = new Stage().add(quiet("secret", 50), quiet("gone", 50)).begin();
  stage.refusal = new KubeError("Forbidden", "secret must not be read");
  await staged(stage, async () => {
    await wait(2 * hour);
    expect(stage.names).toEqual(["secret"]);
  });
});

test("a dry run deletes nothing and says each check once", async () => {
  const said = vi.spyOn(log, "info");
  const stage = new Stage().add(quiet("gone", 50)).begin({ dryRun: true });
  await staged(stage, async () => {
    await wait(3 * hour);
    expect(stage.names).toEqual(["gone"]);
    expect(said.mock.calls.map(([, text]) => text)).toEqual(["check would be deleted"]);
  });
});

test("many go one by one, thirty at a time, with a minute in between", async () => {
  const stage = new Stage().add(...Array.from({ length: 100 }, (_, at) => quiet(`gone-${at}`, 50))).begin();
  await staged(stage, async () => {
    await wait(58 * minute);
    const each: number[] = [];
    for (let second = 0, before = 0; second < 600; second += 1) {
      await wait(1_000);
      each.push(stage.deleted.length - before);
      before = stage.deleted.length;
    }
    expect(stage.names).toEqual([]);
    expect(Math.max(...each)).toBe(1);
    const begun = each.indexOf(1);
    expect(each.slice(begun, begun + 75).filter((count) => count === 1)).toHaveLength(30);
  });
});

test("whose source is there is asked after seldom, and never all at once, however many there are; the others go all the same", async () => {
  const stage = new Stage();
  for (let at = 0; at < 250; at += 1) {
    stage.add(quiet(`live-${at}`, 50));
    stage.pods.set(`Pod live-${at}`, { phase: "Running" });
  }
  stage.add(quiet("gone", 50)).begin();
  await staged(stage, async () => {
    await wait(hour);
    for (let minutes = 0; minutes < 10; minutes += 1) {
      const before = stage.asked;
      await wait(minute);
      expect(stage.asked - before).toBeLessThanOrEqual(2 * 100);
    }
    expect(stage.asked).toBe(251);
    expect(stage.deleted).toHaveLength(1);
    // Another of them goes.
    stage.pods.delete("Pod live-7");
    await wait(hour + 5 * minute);
    expect(stage.deleted).toHaveLength(2);
  });
});

test("in a dry run nobody is asked after more often than that, either", async () => {
  const stage = new Stage().add(quiet("gone", 50)).begin({ dryRun: true });
  await staged(stage, async () => {
    await wait(4.5 * hour);
    expect([stage.asked, stage.names]).toEqual([4, ["gone"]]);
  });
});
