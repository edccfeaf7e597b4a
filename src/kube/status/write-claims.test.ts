import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import type { KubeClient } from "../client/client.ts";
import { createLog } from "../log.ts";
import { WriteBudget } from "./budget.ts";
import { writeClaims } from "./write-claims.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("claims are written before waiting transitions", async () => {
  const { signal } = new AbortController();
  const written: string[] = [];
  const client = { resource: () => ({ patchStatus: () => Promise.resolve(written.push("claims")) }) } as unknown as KubeClient;
  const budget = new WriteBudget();
  for (let nth = 0; nth < 100; nth += 1) {
    void budget.admit("transition", signal).then((leave) => {
      written.push("news");
      leave.done();
    });
  }
  const object = { metadata: { name: "pool", resourceVersion: "1" } };
  const claims = [{ claim: "range/192.0.2.0-192.0.2.255", since: "2026-01-01T00:00:00Z" }];
  void writeClaims({ client, budget, signal, log: createLog({ level: "silent" }) }, IPAddressPool, object, { claims, release: false });
  await vi.advanceTimersByTimeAsync(40);
  expect(written.slice(10)).toEqual(["claims", "news"]);
});
