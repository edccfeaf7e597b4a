import { readFile, stat, truncate } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FrrInstance } from "../../src/frr/instance.ts";
import { FRR_RELEASES, frrInNamespace, run, type FrrInNamespace } from "../support/frr.ts";

const signal = AbortSignal.timeout(10 * 60_000);

describe.each(FRR_RELEASES)("an instance of FRR %s", (version) => {
  let frr: FrrInNamespace;
  beforeAll(async () => {
    frr = await frrInNamespace({ version });
  });
  afterAll(() => frr.stop());

  test("starts daemons that answer with their version", async () => {
    const { router } = frr.instance;
    expect(await router.daemons()).toEqual(
      version === "10" ? ["bfdd", "bgpd", "mgmtd", "staticd", "zebra"] : ["bfdd", "bgpd", "staticd", "zebra"],
    );
    expect((await router.version(signal)).text).toMatch(version === "10" ? /^10\./ : /^8\.4/);
  });

  test("opens no vty on TCP", async () => {
    expect(await run("ip", "netns", "exec", frr.netns, "ss", "-Hltn")).toBe("");
  });

  test("is taken over by the next process, with its configuration", async () => {
    const bgpd = await frr.instance.router.open("bgpd", signal);
    await bgpd.configure(["router bgp 64512", "bgp router-id 192.0.2.1"], signal);
    bgpd.close();
    const before = await frr.instance.router.identity("bgpd");

    const next = new FrrInstance(frr.options);
    await next.start(signal);
    expect(await next.router.identity("bgpd")).toBe(before);
    expect(await next.router.runningConfig("bgpd", signal)).toContain("bgp router-id 192.0.2.1");
    next.router.close();
  });

  test("truncates a log that is too large, and the daemon continues to write to it", async () => {
    const log = join(frr.options.stateDirectory, "log", "bgpd.log");
    await truncate(log, 11 * 1024 * 1024);
    const stop = new AbortController();
    const supervised = frr.instance.supervise(stop.signal);
    await expect.poll(async () => (await stat(log)).size, { timeout: 30_000 }).toBeLessThan(1024);
    stop.abort();
    await supervised;
    expect((await stat(`${log}.1`)).size).toBeGreaterThan(1024);

    const bgpd = await frr.instance.router.open("bgpd", signal);
    await bgpd.must("logmsg errors written after it was emptied", signal);
    bgpd.close();
    await expect.poll(() => readFile(log, "utf8"), { timeout: 30_000 }).toMatch(/^[^\0]*written after it was emptied/);
  });
});
