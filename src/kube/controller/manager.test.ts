import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ConfigMap } from "../../api/core/config-map.ts";
import { fixedAccess } from "../client/access.ts";
import { KubeClient } from "../client/client.ts";
import { KubeError } from "../client/error.ts";
import type { Term } from "../leader/leader.ts";
import { createLog } from "../log.ts";
import type { Runnable } from "./controller.ts";
import { RunnableError } from "./crew.ts";
import { aborted } from "./ending.ts";
import { Manager, type ManagerOptions } from "./manager.ts";

let story: string[];
let stop: AbortController;
let lines: Record<string, unknown>[];

beforeEach(() => {
  vi.useFakeTimers();
  story = [];
  lines = [];
  stop = new AbortController();
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

function manager(options: Partial<ManagerOptions> = {}): Manager {
  const client = new KubeClient(fixedAccess("http://127.0.0.1:1"));
  const close = client.close.bind(client);
  vi.spyOn(client, "close").mockImplementation(() => {
    story.push("client closed");
    close();
  });
  const log = createLog({ level: "debug", write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) });
  return new Manager({ client, log, ...options });
}

/** Tells the story of its start and end, which takes the given time after the abort. */
function part(name: string, endsAfterMs = 0): Runnable {
  return {
    name,
    async run(signal) {
      story.push(`${name} starts`);
      await aborted(signal);
      story.push(`${name} ends`);
      if (endsAfterMs > 0) await new Promise((resolve) => setTimeout(resolve, endsAfterMs));
      story.push(`${name} ended`);
    },
  };
}

/** Elected whenever the test says so. */
function elections() {
  let election = Promise.withResolvers<void>();
  let term = new AbortController();
  return {
    elect: () => election.resolve(),
    depose: () => term.abort(new KubeError("Fenced", "the Lease was taken away")),
    async run(signal: AbortSignal, { onStarted }: Term) {
      story.push("stands for leader");
      election = Promise.withResolvers<void>();
      term = new AbortController();
      await Promise.race([election.promise, aborted(signal)]);
      if (signal.aborted) return;
      await onStarted(AbortSignal.any([signal, term.signal]), "free");
      story.push(term.signal.aborted ? "Lease lost" : "Lease released");
      term.signal.throwIfAborted();
    },
  };
}

/** Where the health server listens, once it does. */
function healthAddress(): Promise<string> {
  return vi.waitFor(
    () => {
      const line = lines.find(({ msg }) => msg === "health server listens");
      if (!line) throw new Error("it does not listen yet");
      return line["address"] as string;
    },
    { timeout: 10_000, interval: 10 },
  );
}

const soon = () => vi.advanceTimersByTimeAsync(0);
const settled = (promise: Promise<void>) =>
  promise.then(
    () => "fine",
    (error: unknown) => error,
  );

test("told to end, controllers drain, then writers flush, then the Lease is released, then connections close", async () => {
  const leader = elections();
  const all = manager({ leader });
  all.add(part("webhook", 300));
  all.add(part("writer", 50), { stage: "writers" });
  all.add(part("allocator", 100), { leaderOnly: true });
  all.add(part("pool-writer", 50), { stage: "writers", leaderOnly: true });
  const run = settled(all.run(stop.signal));
  await soon();
  leader.elect();
  await soon();
  story.push("told to end");
  stop.abort();
  await vi.advanceTimersByTimeAsync(1000);
  expect(await run).toBe("fine");
  expect(story).toEqual([
    "webhook starts",
    "writer starts",
    "stands for leader",
    "allocator starts",
    "pool-writer starts",
    "told to end",
    "webhook ends",
    "allocator ends",
    "allocator ended",
    "webhook ended",
    "writer ends",
    "pool-writer ends",
    "writer ended",
    "pool-writer ended",
    "Lease released",
    "client closed",
  ]);
  expect(vi.getTimerCount()).toBe(0);
});

test("what is for the leader starts when elected, stops when the Lease is lost, and starts again with the next term", async () => {
  const leader = elections();
  const all = manager({ leader });
  all.add(part("webhook"));
  all.add(part("allocator", 100), { leaderOnly: true });
  all.add(part("pool-writer"), { stage: "writers", leaderOnly: true });
  const run = settled(all.run(stop.signal));
  await soon();
  expect(story).toEqual(["webhook starts", "stands for leader"]);
  leader.elect();
  await soon();
  story.length = 0;
  leader.depose();
  await vi.advanceTimersByTimeAsync(100);
  expect(story).toEqual(["allocator ends", "allocator ended", "pool-writer ends", "pool-writer ended", "Lease lost", "stands for leader"]);
  story.length = 0;
  leader.elect();
  await soon();
  expect(story).toEqual(["allocator starts", "pool-writer starts"]);
  stop.abort();
  await vi.advanceTimersByTimeAsync(100);
  expect(await run).toBe("fine");
});

test("a leader's part that meets the fence before the loss is told ends with its term, and not the process", async () => {
  const leader = elections();
  const all = manager({ leader });
  const frozen = Promise.withResolvers<void>();
  let terms = 0;
  all.add(
    {
      name: "members",
      async run(signal) {
        terms += 1;
        if (terms === 1) await frozen.promise;
        else await aborted(signal);
      },
    },
    { leaderOnly: true },
  );
  const run = settled(all.run(stop.signal));
  await soon();
  leader.elect();
  await soon();
  frozen.reject(new KubeError("Fenced", "not renewed in time"));
  await soon();
  leader.depose();
  await soon();
  leader.elect();
  await soon();
  expect(terms).toBe(2);
  stop.abort();
  expect(await run).toBe("fine");
});

test("without an elector the process is alone and leads at once", async () => {
  const all = manager();
  all.add(part("allocator"), { leaderOnly: true });
  const run = settled(all.run(stop.signal));
  await soon();
  expect(story).toEqual(["allocator starts"]);
  stop.abort();
  expect(await run).toBe("fine");
});

test("a part that fails takes the others down in order and is named", async () => {
  const all = manager();
  all.add(part("webhook"));
  all.add(part("writer"), { stage: "writers" });
  all.add({
    name: "members",
    async run() {
      await new Promise((resolve) => setTimeout(resolve, 5000));
      throw new TypeError("no such ConfigMap");
    },
  });
  const run = settled(all.run(stop.signal));
  await vi.advanceTimersByTimeAsync(5000);
  const error = (await run) as RunnableError;
  expect(error).toBeInstanceOf(RunnableError);
  expect(error).toMatchObject({ code: "Failed", runnable: "members", message: "members failed: no such ConfigMap" });
  expect(story).toEqual([
    "webhook starts",
    "writer starts",
    "webhook ends",
    "webhook ended",
    "writer ends",
    "writer ended",
    "client closed",
  ]);
});

test("a part that throws before its first await fails like any other", async () => {
  const all = manager();
  all.add({
    name: "members",
    run() {
      throw new Error("at once");
    },
  });
  await expect(all.run(stop.signal)).rejects.toThrow("members failed: at once");
});

test("an elector that fails for another reason than a lost Lease takes the process down", async () => {
  const all = manager({ leader: { run: () => Promise.reject(new TypeError("no namespace")) } });
  await expect(all.run(stop.signal)).rejects.toThrow("no namespace");
});

test("a part that ends early is done, not failed", async () => {
  const all = manager();
  all.add({ name: "once", run: async () => {} });
  const run = settled(all.run(stop.signal));
  await soon();
  stop.abort();
  expect(await run).toBe("fine");
});

test("a part that ends by throwing the reason of its signal has ended well", async () => {
  const all = manager();
  all.add({
    name: "waiter",
    async run(signal) {
      await aborted(signal);
      signal.throwIfAborted();
    },
  });
  const run = settled(all.run(stop.signal));
  await soon();
  stop.abort();
  expect(await run).toBe("fine");
});

test("a part that fails while ending is told at the end", async () => {
  const all = manager();
  all.add({
    name: "flusher",
    async run(signal) {
      await aborted(signal);
      throw new Error("two pictures lost");
    },
  });
  const run = settled(all.run(stop.signal));
  await soon();
  stop.abort();
  expect(await run).toMatchObject({ message: "flusher failed: two pictures lost" });
});

test("a part that does not end holds the others up only for its time, and is named", async () => {
  const all = manager();
  all.add({ name: "deaf", run: () => new Promise(() => {}) });
  all.add({ name: "webhook", run: aborted });
  all.add(part("writer"), { stage: "writers" });
  const run = settled(all.run(stop.signal));
  await soon();
  stop.abort();
  await vi.advanceTimersByTimeAsync(17_999);
  expect(story).toEqual(["writer starts"]);
  await vi.advanceTimersByTimeAsync(1);
  expect(await run).toMatchObject({ code: "Stuck", runnable: "deaf", message: "deaf did not end within 18 s of being told to" });
  expect(story).toEqual(["writer starts", "writer ends", "writer ended", "client closed"]);
});

test("a leader's part that does not end with its term takes the process down, so that no second one runs beside it", async () => {
  const leader = elections();
  const all = manager({ leader });
  all.add({ name: "deaf", run: () => new Promise(() => {}) }, { leaderOnly: true });
  const run = settled(all.run(stop.signal));
  await soon();
  leader.elect();
  await soon();
  leader.depose();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await run).toMatchObject({ code: "Stuck", runnable: "deaf" });
  expect(story.filter((line) => line === "stands for leader")).toHaveLength(1);
});

test("a Lease that cannot be released does not hold up the end", async () => {
  const all = manager({
    leader: {
      async run(signal, { onStarted }) {
        await onStarted(signal, "free");
        await new Promise(() => {});
      },
    },
  });
  const run = settled(all.run(stop.signal));
  await soon();
  stop.abort();
  await vi.advanceTimersByTimeAsync(4000);
  expect(await run).toBe("fine");
  expect(lines.map((line) => line["msg"])).toContain("the Lease was not released in time and is left to expire");
});

test("an election won in the moment of the end starts nothing", async () => {
  const all = manager({
    leader: { run: async (_signal, { onStarted }) => onStarted(AbortSignal.abort(), "free").then(() => stop.abort()) },
  });
  all.add(part("allocator"), { leaderOnly: true });
  await all.run(stop.signal);
  expect(story).toEqual(["client closed"]);
});

test("SIGTERM ends it in order, and a second signal at once", async () => {
  const exit = vi.spyOn(process, "exit").mockImplementation(() => undefined as never);
  const before = process.listenerCount("SIGTERM");
  const all = manager();
  all.add(part("slow", 10_000));
  const run = settled(all.run(stop.signal));
  await soon();
  process.emit("SIGTERM", "SIGTERM");
  await soon();
  expect(story).toEqual(["slow starts", "slow ends"]);
  expect(exit).not.toHaveBeenCalled();
  process.emit("SIGINT", "SIGINT");
  expect(exit).toHaveBeenCalledWith(130);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await run).toBe("fine");
  expect(process.listenerCount("SIGTERM")).toBe(before);
});

test("not ready until every cache is read and every check passes; nothing starts before the caches are read", async () => {
  vi.useRealTimers();
  const all = manager({ healthAddress: "127.0.0.1:0" });
  all.cache(ConfigMap);
  all.add(part("allocator"));
  all.addCheck("certificate", () => {
    throw new Error("not yet issued");
  });
  const run = settled(all.run(stop.signal));
  const address = await healthAddress();
  const response = await fetch(`http://${address}/readyz`);
  expect(response.status).toBe(503);
  expect(await response.text()).toBe(
    "[+] shutdown ok\n[-] caches failed: not yet read: configmaps\n[-] certificate failed: not yet issued\nreadyz failed\n",
  );
  stop.abort();
  expect(await run).toBe("fine");
  expect(story).toEqual(["client closed"]);
  await expect(fetch(`http://${address}/livez`)).rejects.toThrow("fetch failed");
});

test("a late cache that cannot be read holds up nobody but its readers", async () => {
  vi.useRealTimers();
  const all = manager({ healthAddress: "127.0.0.1:0" });
  const cache = all.lateCache(ConfigMap);
  all.add(part("allocator"));
  all.add({
    name: "reader",
    async run(signal) {
      await cache.waitForSync(signal);
      story.push("reader reads");
    },
  });
  const run = settled(all.run(stop.signal));
  const response = await fetch(`http://${await healthAddress()}/readyz`);
  expect(response.status).toBe(200);
  await vi.waitFor(() => expect(story).toEqual(["allocator starts"]));
  stop.abort();
  expect(await run).toBe("fine");
  expect(story).toEqual(["allocator starts", "allocator ends", "allocator ended", "client closed"]);
});

test("while it ends it is no longer ready, but still alive", async () => {
  vi.useRealTimers();
  const all = manager({ healthAddress: "127.0.0.1:0" });
  const free = Promise.withResolvers<void>();
  all.add({ name: "slow", run: () => free.promise });
  const run = settled(all.run(stop.signal));
  const address = await healthAddress();
  expect((await fetch(`http://${address}/readyz`)).status).toBe(200);
  stop.abort();
  const response = await fetch(`http://${address}/readyz`);
  expect(await response.text()).toContain("[-] shutdown failed: the process is ending\n");
  expect((await fetch(`http://${address}/livez`)).status).toBe(200);
  free.resolve();
  expect(await run).toBe("fine");
});

test("a health address that cannot be had is told before anything starts", async () => {
  vi.useRealTimers();
  const all = manager({ healthAddress: "nonsense" });
  all.add(part("allocator"));
  const error = (await settled(all.run(stop.signal))) as RunnableError;
  expect(error).toBeInstanceOf(RunnableError);
  expect(error.message).toBe("The health server cannot listen on nonsense: the address is not host:port or :port");
  expect(story).toEqual(["client closed"]);
});

const whole = (map: ConfigMap) => map;

test("who asks for what another watches already gets the same cache; what is selected or made otherwise is another", () => {
  const managing = manager();
  const cache = managing.cache(ConfigMap, { namespace: "hall" });
  expect(managing.cache(ConfigMap, { namespace: "hall" })).toBe(cache);
  const others = [
    managing.cache(ConfigMap),
    managing.cache(ConfigMap, { namespace: "attic" }),
    managing.cache(ConfigMap, { namespace: "hall", labelSelector: "a=b" }),
    managing.cache(ConfigMap, { namespace: "hall", transform: whole }),
    managing.cache(ConfigMap, { namespace: "hall", transform: (map) => map }),
    managing.cache(ConfigMap, { namespace: "hall", indexes: { all: () => [] } }),
    managing.lateCache(ConfigMap, { namespace: "hall" }),
  ];
  expect(new Set([cache, ...others]).size).toBe(8);
  expect(managing.lateCache(ConfigMap, { namespace: "hall" })).toBe(others[6]);
  expect(managing.cache(ConfigMap, { namespace: "hall", transform: whole })).toBe(others[3]);
});
