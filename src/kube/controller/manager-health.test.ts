import { expect, test, vi } from "vitest";
import { ConfigMap } from "../../api/core/config-map.ts";
import { RunnableError } from "./runnable-group.ts";
import { flushMicrotasks, useManagerHarness } from "../testing/manager-harness.ts";

const harness = useManagerHarness();

test("not ready until every cache is read and every check passes; nothing starts before the caches are read", async () => {
  vi.useRealTimers();
  const all = harness().manager({ healthAddress: "127.0.0.1:0" });
  all.cache(ConfigMap);
  all.add(harness().part("allocator"));
  all.addCheck("certificate", () => {
    throw new Error("not yet issued");
  });
  const run = flushMicrotasks(all.run(harness().stop.signal));
  const address = await harness().healthAddress();
  const response = await fetch(`http://${address}/readyz`);
  expect(response.status).toBe(503);
  expect(await response.text()).toBe(
    "[+] shutdown ok\n[-] caches failed: waiting for: configmaps\n[-] certificate failed: not yet issued\nreadyz failed\n",
  );
  harness().stop.abort();
  expect(await run).toBe("fine");
  expect(harness().story).toEqual(["client closed"]);
  await expect(fetch(`http://${address}/livez`)).rejects.toThrow("fetch failed");
});

test("a late cache that cannot be read blocks only its readers", async () => {
  vi.useRealTimers();
  const all = harness().manager({ healthAddress: "127.0.0.1:0" });
  const cache = all.lateCache(ConfigMap);
  all.add(harness().part("allocator"));
  all.add({
    name: "reader",
    async run(signal) {
      await cache.waitForSync(signal);
      harness().story.push("reader reads");
    },
  });
  const run = flushMicrotasks(all.run(harness().stop.signal));
  const response = await fetch(`http://${await harness().healthAddress()}/readyz`);
  expect(response.status).toBe(200);
  await vi.waitFor(() => expect(harness().story).toEqual(["allocator starts"]), 30_000);
  harness().stop.abort();
  expect(await run).toBe("fine");
  expect(harness().story).toEqual(["allocator starts", "allocator ends", "allocator ended", "client closed"]);
});

test("is alive but not ready while it stops", async () => {
  vi.useRealTimers();
  const all = harness().manager({ healthAddress: "127.0.0.1:0" });
  const free = Promise.withResolvers<void>();
  all.add({ name: "slow", run: () => free.promise });
  const run = flushMicrotasks(all.run(harness().stop.signal));
  const address = await harness().healthAddress();
  expect((await fetch(`http://${address}/readyz`)).status).toBe(200);
  harness().stop.abort();
  const response = await fetch(`http://${address}/readyz`);
  expect(await response.text()).toContain("[-] shutdown failed: the process is ending\n");
  expect((await fetch(`http://${address}/livez`)).status).toBe(200);
  free.resolve();
  expect(await run).toBe("fine");
});

test("a health address that cannot be bound is an error before anything starts", async () => {
  vi.useRealTimers();
  const all = harness().manager({ healthAddress: "nonsense" });
  all.add(harness().part("allocator"));
  const error = (await flushMicrotasks(all.run(harness().stop.signal))) as RunnableError;
  expect(error).toBeInstanceOf(RunnableError);
  expect(error.message).toBe("The health server cannot listen on nonsense: the address is not host:port or :port");
  expect(harness().story).toEqual(["client closed"]);
});
