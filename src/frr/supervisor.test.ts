import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Daemon } from "./daemons.ts";
import { keepRunning, type RestartCause } from "./supervisor.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Daemons as a test has them die and hang; each restart is written down with its second. */
function daemons(names: readonly Daemon[], options: { diesAfterMs?: number } = {}) {
  const start = performance.now();
  const dead = new Set<Daemon>();
  const silent = new Set<Daemon>();
  const checks: Daemon[] = [];
  const connected = new Map<Daemon, Set<() => void>>();
  const restarts: { daemon: Daemon; cause: RestartCause; second: number }[] = [];
  const stop = new AbortController();
  const done = keepRunning(
    {
      daemons: names,
      connection(daemon) {
        const listeners = connected.get(daemon);
        return listeners && { onLoss: (listener) => (listeners.add(listener), () => listeners.delete(listener)) };
      },
      alive(daemon) {
        checks.push(daemon);
        return Promise.resolve(!dead.has(daemon));
      },
      answers: (daemon) => Promise.resolve(!silent.has(daemon)),
      restart(daemon, cause) {
        restarts.push({ daemon, cause, second: Math.round((performance.now() - start) / 1000) });
        dead.delete(daemon);
        silent.delete(daemon);
        if (options.diesAfterMs !== undefined) setTimeout(() => dead.add(daemon), options.diesAfterMs);
        return Promise.resolve();
      },
    },
    stop.signal,
  );
  const lose = (daemon: Daemon) => {
    const listeners = connected.get(daemon) ?? [];
    connected.delete(daemon);
    for (const listener of listeners) listener();
  };
  return { dead, silent, checks, connected, lose, restarts, stop: () => (stop.abort(), done) };
}

test("restarts a daemon that dies within two seconds, and leaves the others alone", async () => {
  const { dead, restarts, stop } = daemons(["zebra", "bgpd"]);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(restarts).toEqual([]);
  dead.add("bgpd");
  await vi.advanceTimersByTimeAsync(2_000);
  expect(restarts).toMatchObject([{ daemon: "bgpd", cause: "dead" }]);
  await vi.advanceTimersByTimeAsync(600_000);
  expect(restarts).toHaveLength(1);
  await stop();
});

test("does not probe a daemon with an open connection", async () => {
  const { dead, checks, connected, lose, restarts, stop } = daemons(["bgpd"]);
  connected.set("bgpd", new Set());
  await vi.advanceTimersByTimeAsync(2_000);
  checks.length = 0;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(checks).toEqual([]);
  expect(connected.get("bgpd")?.size).toBe(1);
  dead.add("bgpd");
  lose("bgpd");
  await vi.advanceTimersByTimeAsync(1_200);
  expect(restarts).toMatchObject([{ daemon: "bgpd", cause: "dead" }]);
  await stop();
});

test("restarts a daemon that keeps dying with backoff, up to twice a minute", async () => {
  const { dead, restarts, stop } = daemons(["bgpd"], { diesAfterMs: 100 });
  dead.add("bgpd");
  await vi.advanceTimersByTimeAsync(300_000);
  const gaps = restarts.slice(1).map(({ second }, at) => second - (restarts[at]?.second ?? 0));
  expect(gaps[0]).toBeLessThanOrEqual(3);
  for (const gap of gaps.slice(7)) expect(gap).toBeGreaterThanOrEqual(15);
  for (const gap of gaps) expect(gap).toBeLessThanOrEqual(33);
  await stop();
});

test("restarts a daemon at once if it ran well for a minute", async () => {
  const { dead, restarts, stop } = daemons(["bgpd"]);
  for (let times = 1; times <= 10; times++) {
    dead.add("bgpd");
    await vi.advanceTimersByTimeAsync(70_000);
    expect(restarts).toHaveLength(times);
  }
  dead.add("bgpd");
  await vi.advanceTimersByTimeAsync(2_000);
  expect(restarts).toHaveLength(11);
  await stop();
});

test("tolerates a short silence, and restarts a daemon that stays silent", async () => {
  const { silent, restarts, stop } = daemons(["zebra", "bgpd"]);
  silent.add("bgpd");
  await vi.advanceTimersByTimeAsync(70_000);
  silent.delete("bgpd");
  await vi.advanceTimersByTimeAsync(30_000);
  expect(restarts).toEqual([]);
  silent.add("bgpd");
  await vi.advanceTimersByTimeAsync(115_000);
  expect(restarts).toMatchObject([{ daemon: "bgpd", cause: "hung" }]);
  await stop();
});

test("stops with the signal, and starts nothing after it", async () => {
  const { dead, restarts, stop } = daemons(["bgpd"]);
  await stop();
  dead.add("bgpd");
  await vi.advanceTimersByTimeAsync(10_000);
  expect(restarts).toEqual([]);
});
