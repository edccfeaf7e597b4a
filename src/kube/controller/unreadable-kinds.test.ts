import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import type { Kind } from "../../api/kind.ts";
import { UnreadableKinds } from "./unreadable-kinds.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: new Date("2026-01-01T00:00:00Z") });
});
afterEach(() => {
  vi.useRealTimers();
});

function harness() {
  const listeners: ((state: "connected" | "lost") => void)[] = [];
  const cache = {
    kind: IPAddressPool as unknown as Kind,
    onConnection(listener: (state: "connected" | "lost") => void) {
      listeners.push(listener);
      return () => listeners.splice(listeners.indexOf(listener), 1);
    },
  };
  const views = new UnreadableKinds([cache], "configuration");
  const ring = vi.fn<(key: string) => void>();
  const end = views.subscribe(ring);
  return { views, ring, end, tell: (state: "connected" | "lost") => listeners.forEach((listener) => listener(state)), listeners };
}

test("a watch that recovers within half a minute is not reported", () => {
  const { views, ring, tell } = harness();
  tell("lost");
  vi.advanceTimersByTime(29_000);
  tell("connected");
  vi.advanceTimersByTime(60_000);
  expect(ring).not.toHaveBeenCalled();
  expect(views.impairment()).toBeUndefined();
});

test("a kind that cannot be read for longer is reported with its start time until it can be read", () => {
  const { views, ring, tell } = harness();
  tell("lost");
  vi.advanceTimersByTime(31_000);
  expect(ring.mock.calls).toEqual([["configuration"]]);
  expect(views.impairment()).toEqual({
    reason: "ConfigurationUnreadable",
    message: "Access denied: ipaddresspools since 2026-01-01T00:00:00Z",
  });
  tell("connected");
  expect(ring).toHaveBeenCalledTimes(2);
  expect(views.impairment()).toBeUndefined();
});

test("a removed listener gets nothing, and losses are forgotten", () => {
  const { views, ring, tell, end, listeners } = harness();
  tell("lost");
  end();
  vi.advanceTimersByTime(60_000);
  expect(ring).not.toHaveBeenCalled();
  expect(listeners).toEqual([]);
  expect(views.impairment()).toBeUndefined();
});
