import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Secret } from "../../api/core/secret.ts";
import type { Change } from "../cache/cache.ts";
import { ReferencedSecrets } from "./referenced-secrets.ts";

const { signal } = new AbortController();
const web: Secret = { metadata: { name: "web", namespace: "metallb-system" } };
let news: number;
let caches: Map<string, FakeCache>;
let secrets: ReferencedSecrets;
beforeEach(() => {
  vi.useFakeTimers();
  news = 0;
  caches = new Map();
  secrets = new ReferencedSecrets({
    namespace: "metallb-system",
    open: (name) => {
      const cache = new FakeCache();
      caches.set(name, cache);
      return cache;
    },
    onChange: () => void news++,
  });
});
afterEach(() => vi.useRealTimers());

/** What the API server says of one Secret, when the test has it say so. */
class FakeCache {
  readonly kind = Secret;
  synced = false;
  signal: AbortSignal | undefined;
  stored: Secret | undefined;
  tell: (change: Change<Secret>) => void = () => undefined;
  connection: (state: "connected" | "lost") => void = () => undefined;
  readonly #first = Promise.withResolvers<void>();

  start(signal: AbortSignal): void {
    this.signal = signal;
  }

  get(): Secret | undefined {
    return this.stored;
  }

  waitForSync(): Promise<void> {
    return this.#first.promise;
  }

  subscribe(listener: (change: Change<Secret>) => void): () => void {
    this.tell = listener;
    return () => undefined;
  }

  onConnection(listener: (state: "connected" | "lost") => void): () => void {
    this.connection = listener;
    return () => undefined;
  }

  read(stored: Secret | undefined): void {
    this.synced = true;
    this.stored = stored;
    if (stored) this.tell({ type: "added", object: stored, initial: true });
    this.#first.resolve();
  }
}

const follow = (...names: string[]) => secrets.follow(new Set(names), 2_000, signal);

test("a Secret that is read in time is no change, and a missing one is missing", async () => {
  const done = follow("web", "gone");
  caches.get("web")?.read(web);
  caches.get("gone")?.read(undefined);
  await done;
  expect([secrets.get("web"), secrets.get("gone"), news]).toEqual([web, undefined, 0]);
});

test("a Secret that is not read in time is unreadable, and reading it later is a change", async () => {
  const done = follow("web");
  await vi.advanceTimersByTimeAsync(2_000);
  await done;
  expect([secrets.get("web"), news]).toEqual(["unreadable", 0]);
  await follow("web");
  caches.get("web")?.read(undefined);
  await vi.advanceTimersByTimeAsync(0);
  expect([secrets.get("web"), news]).toEqual([undefined, 1]);
});

test("an invalid Secret name is not requested and counts as missing", async () => {
  await follow("a,b", "../x", "");
  expect([caches.size, secrets.get("a,b")]).toEqual([0, undefined]);
});

test("a Secret that is no longer referenced is not watched", async () => {
  const done = follow("web");
  caches.get("web")?.read(web);
  await done;
  await follow();
  expect([caches.get("web")?.signal?.aborted, secrets.get("web")]).toEqual([true, undefined]);
});

test("a Secret that becomes unreadable keeps its data, and is reported after a while", async () => {
  const done = follow("web");
  const cache = caches.get("web") as FakeCache;
  cache.read(web);
  await done;
  cache.connection("lost");
  await vi.advanceTimersByTimeAsync(29_000);
  expect([secrets.impairment(), news]).toEqual([undefined, 0]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect([secrets.get("web"), news]).toEqual([web, 1]);
  expect(secrets.impairment()).toEqual({
    reason: "SecretUnreadable",
    message: "Access to Secret web denied; using the last known value",
  });
  cache.connection("connected");
  expect([secrets.impairment(), news]).toEqual([undefined, 2]);
});
