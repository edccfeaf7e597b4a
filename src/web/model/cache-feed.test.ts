import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Node } from "../../api/core/node.ts";
import { Service } from "../../api/core/service.ts";
import type { Kind, KubeObject } from "../../api/kind.ts";
import type { Cache } from "../../kube/cache/cache.ts";
import { modelOf } from "../testing/fixtures.ts";
import type { SyncRow } from "../api.ts";
import { CacheFeed } from "./cache-feed.ts";

beforeEach(() => vi.useFakeTimers({ now: Date.parse("2026-11-16T12:00:00Z") }));
afterEach(() => vi.useRealTimers());

type State = "connected" | "lost";

function cacheOf(kind: Kind) {
  const read = Promise.withResolvers<void>();
  const listeners = new Set<(state: State) => void>();
  const cache = {
    kind,
    synced: false,
    subscribe: () => () => undefined,
    onConnection(listener: (state: State) => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    waitForSync: () => read.promise,
    sync() {
      cache.synced = true;
      read.resolve();
    },
    become(state: State) {
      for (const listener of listeners) listener(state);
    },
  };
  return cache;
}

test("a watch that stays broken makes its data outdated, and a kind that was never read does not", async () => {
  const [nodes, services] = [cacheOf(Node), cacheOf(Service)];
  const model = modelOf();
  const end = new AbortController();
  new CacheFeed(model, [nodes, services] as unknown as Cache<KubeObject>[]).begin(end.signal);
  const syncRow = () => JSON.parse(model.rows.snapshot("sync", ({ text }) => text).slice(1, -1)) as SyncRow;
  expect(syncRow()).toMatchObject({ complete: false, lost: [] });

  nodes.sync();
  nodes.become("connected");
  await vi.advanceTimersByTimeAsync(10_000);
  const never = { kind: "Service", since: "2026-11-16T12:00:00Z", read: false };
  expect(syncRow()).toMatchObject({ complete: true, lost: [never] });

  nodes.become("lost");
  await vi.advanceTimersByTimeAsync(4_000);
  nodes.become("connected");
  await vi.advanceTimersByTimeAsync(4_000);
  expect(syncRow().lost).toEqual([never]);
  nodes.become("lost");
  await vi.advanceTimersByTimeAsync(5_000);
  expect(syncRow().lost).toEqual([{ kind: "Node", since: "2026-11-16T12:00:18Z", read: true }, never]);
  nodes.become("connected");
  services.sync();
  await vi.advanceTimersByTimeAsync(0);
  expect(syncRow().lost).toEqual([]);
  end.abort();
});
