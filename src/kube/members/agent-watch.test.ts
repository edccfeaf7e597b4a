import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Lease } from "../../api/core/lease.ts";
import type { Cache } from "../cache/cache.ts";
import type { KubeClient } from "../client/client.ts";
import { KubeError } from "../client/error.ts";
import { createLog } from "../log.ts";
import { nodeOfLease } from "./agent-lease.ts";
import { AgentWatch } from "./agent-watch.ts";

/** A server with Leases, and a cache of them that may be cut off from it. */
class World {
  readonly server = new Map<string, Lease>();
  readonly doubts: { expired: number; of: number }[] = [];
  readonly notified = new Set<string>();
  published: () => Promise<ReadonlySet<string> | undefined> = () => Promise.resolve(undefined);
  lists = 0;
  listFails = false;
  reported: string[] = [];
  #cached = new Map<string, Lease>();
  #lastHeard = 0;
  #stale = false;
  #version = 0;
  #connection: (state: "connected" | "lost") => void = () => {};
  readonly watch: AgentWatch;

  constructor() {
    const leases = {
      list: () => [...this.#cached.values()],
      waitForSync: () => Promise.resolve(),
      onConnection: (listener: (state: "connected" | "lost") => void) => {
        this.#connection = listener;
      },
    };
    Object.defineProperty(leases, "lastHeard", { get: () => this.#lastHeard });
    const client = {
      resource: () => ({
        list: () => {
          this.lists += 1;
          if (this.listFails) throw new KubeError("Unreachable", "connection refused");
          return Promise.resolve({ items: [...this.server.values()], resourceVersion: "1" });
        },
      }),
    };
    this.watch = new AgentWatch({
      client: client as unknown as KubeClient,
      holderOf: nodeOfLease,
      leases: leases as unknown as Cache<Lease>,
      reported: () => this.reported,
      published: () => this.published(),
      onDoubt: (doubt) => this.doubts.push(doubt),
      log: createLog({ level: "silent" }),
    });
    this.watch.subscribe((node) => this.notified.add(node));
  }

  renew(...nodes: string[]): void {
    for (const node of nodes) {
      this.#version += 1;
      const metadata = { name: `agent-${node}`, resourceVersion: String(this.#version), annotations: { "plumbline.dev/node": node } };
      this.server.set(node, { metadata, spec: { renewTime: new Date().toISOString() } });
    }
    this.deliver();
  }

  deliver(): void {
    if (this.#stale) return;
    this.#cached = new Map(this.server);
    this.#lastHeard = performance.now();
  }

  /** The connection is dead, which no side has detected. */
  stall(stale: boolean): void {
    this.#stale = stale;
    this.deliver();
  }

  connection(state: "connected" | "lost"): void {
    this.stall(state === "lost");
    this.#connection(state);
  }

  /** Lets time pass while these agents renew every ten seconds. */
  async pass(seconds: number, ...renewing: string[]): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      if (second % 10 === 0 && renewing.length > 0) this.renew(...renewing);
      await vi.advanceTimersByTimeAsync(1_000);
    }
  }

  silent(): string[] {
    return [...this.server.keys(), ...this.reported].filter((node) => this.watch.silence(node));
  }
}

let world: World;
let stopping: AbortController;
let running: Promise<void>;

beforeEach(() => {
  vi.useFakeTimers({ now: Date.UTC(2026, 10, 15, 10, 30) });
  world = new World();
  stopping = new AbortController();
  running = Promise.resolve();
});

afterEach(async () => {
  stopping.abort();
  await running;
  vi.useRealTimers();
});

async function start(...nodes: string[]): Promise<void> {
  world.renew(...nodes);
  running = world.watch.run(stopping.signal);
  await vi.advanceTimersByTimeAsync(0);
}

test("an agent that stops renewing is silent since its last renewal, and not live any more", async () => {
  await start("a", "b", "c");
  await world.pass(20, "a", "b", "c");
  await world.pass(60, "a", "b");
  expect(world.silent()).toEqual(["c"]);
  expect(world.watch.silence("c")).toEqual({ node: "c", since: new Date(Date.UTC(2026, 10, 15, 10, 30, 10)) });
  expect(world.watch.living()).toEqual(["a", "b"]);
  expect(world.notified).toContain("c");
  await world.pass(5, "a", "b", "c");
  expect(world.silent()).toEqual([]);
  expect(world.watch.living()).toEqual(["a", "b", "c"]);
});

test("a node that reports without a Lease is silent since it was first seen", async () => {
  world.reported = ["ghost"];
  await start("a", "b");
  await world.pass(60, "a", "b");
  expect(world.watch.silence("ghost")).toEqual({ node: "ghost", since: new Date(Date.UTC(2026, 10, 15, 10, 30)) });
  expect(world.watch.living()).toEqual(["a", "b"]);
});

describe("many agents without renewal at once", () => {
  test("are reported once, the Leases are listed, and they are silent a full duration later", async () => {
    await start("a", "b", "c", "d");
    await world.pass(32, "d");
    expect(world.doubts).toEqual([{ expired: 3, of: 4 }]);
    expect(world.lists).toBe(1);
    await world.pass(26, "d");
    expect(world.silent()).toEqual([]);
    await world.pass(12, "d");
    expect(world.silent()).toEqual(["a", "b", "c"]);
    expect(world.doubts).toHaveLength(1);
  });

  test("are alive when the list shows that only the watch had stopped delivering", async () => {
    await start("a", "b", "c", "d");
    world.stall(true);
    await world.pass(90, "a", "b", "c", "d");
    expect(world.lists).toBeGreaterThan(0);
    expect(world.silent()).toEqual([]);
    expect(world.watch.living()).toEqual(["a", "b", "c", "d"]);
  });
});

test("without events the Leases are listed before an agent is silent, with backoff while the server does not answer, and its outage does not count", async () => {
  await start("a");
  world.listFails = true;
  await world.pass(300);
  expect(world.silent()).toEqual([]);
  expect(world.lists).toBeGreaterThan(5);
  expect(world.lists).toBeLessThan(30);
  world.listFails = false;
  await world.pass(90);
  expect(world.silent()).toEqual(["a"]);
  const lists = world.lists;
  await world.pass(120);
  expect(world.lists).toBe(lists);
});

test("a lost watch marks no agent, and a silent agent may be marked again a full duration after the watch is back", async () => {
  await start("a", "b", "c");
  await world.pass(60, "a", "b");
  expect(world.silent()).toEqual(["c"]);
  world.connection("lost");
  await world.pass(120, "a", "b");
  expect(world.silent()).toEqual([]);
  world.connection("connected");
  await world.pass(28, "a", "b");
  expect(world.silent()).toEqual([]);
  world.notified.clear();
  await world.pass(4, "a", "b");
  expect(world.silent()).toEqual(["c"]);
  expect([...world.notified]).toEqual(["c"]);
});

test("a new term starts with the published members and without earlier observations", async () => {
  let attempts = 0;
  world.published = () => {
    attempts += 1;
    return attempts < 3 ? Promise.reject(new KubeError("Unreachable", "connection refused")) : Promise.resolve(new Set(["a"]));
  };
  await start("a", "b");
  expect(world.watch.living()).toBeUndefined();
  await vi.advanceTimersByTimeAsync(30_000);
  expect(attempts).toBe(3);
  expect(world.watch.living()).toEqual(["a"]);

  stopping.abort();
  await running;
  expect(world.watch.living()).toBeUndefined();
  stopping = new AbortController();
  let ready = false;
  const waiting = world.watch.ready(stopping.signal).then(() => {
    ready = true;
  });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(ready).toBe(false);
  await start("a", "b");
  await waiting;
  expect(world.watch.living()).toEqual(["a"]);
});
