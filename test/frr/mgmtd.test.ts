import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { FrrPass } from "../../src/frr/apply.ts";
import { parse } from "../../src/frr/config.ts";
import type { Fragment } from "../../src/frr/fragment.ts";
import { openTransactions } from "../../src/frr/show.ts";
import { frrInNamespace, type FrrInNamespace } from "../support/frr.ts";

const signal = AbortSignal.timeout(5 * 60_000);
const patient = { timeout: 60_000, interval: 50 };

const restarted: string[] = [];
let frr: FrrInNamespace;
beforeAll(async () => {
  frr = await frrInNamespace({ version: "10", onRestart: (daemon, cause) => restarted.push(`${daemon} ${cause}`) });
});
afterAll(() => frr.stop());

const running = () => frr.instance.router.runningConfig("mgmtd", signal);

const vrf = (name: string, vni: number): Fragment => ({
  owner: `L3VNI/${name}`,
  lines: parse(`vrf ${name}\n vni ${vni}\nexit-vrf\n`),
});

async function configure(...lines: string[]): Promise<void> {
  const vty = await frr.instance.router.open("mgmtd", signal);
  await vty.configure(lines, signal);
  vty.close();
}

test("a line of this pass that mgmtd loses is sent again, without a failure", async () => {
  const first = await FrrPass.open(frr.instance, [], signal);
  await first.apply(vrf("red", 100));
  await first.finish();

  const pass = await FrrPass.open(frr.instance, [vrf("red", 100)], signal);
  await pass.remove("L3VNI/red");
  await pass.apply(vrf("blue", 200));
  await configure("vrf red", "vni 100", "vrf blue", "no vni 200");
  expect(await pass.finish({ repair: false })).toEqual({ foreign: [], differed: [] });
  expect(await running()).toContain(" vni 200\n");
  expect(await running()).not.toContain(" vni 100\n");
});

test("a transaction is open for as long as zebra does not commit", async () => {
  const { router, runDirectory } = frr.instance;
  const open = () => openTransactions(router, signal);
  const zebra = Number(await readFile(join(runDirectory, "zebra.pid"), "utf8"));
  const vty = await router.open("mgmtd", signal);
  await vty.must("configure terminal", signal);
  process.kill(zebra, "SIGSTOP");
  const commit = vty.run("vrf green", signal, { deadlineMs: 60_000 });
  try {
    await vi.waitFor(async () => expect((await open()).size).toBe(1), patient);
    expect(await open()).toEqual(await open());
  } finally {
    process.kill(zebra, "SIGCONT");
  }
  expect(await commit).toEqual({ status: 0, text: "" });
  await vi.waitFor(async () => expect(await open()).toEqual(new Set()), patient);
  vty.close();
});

test("mgmtd is restarted when it answers but does not end a transaction", async () => {
  await writeFile(frr.instance.bootFile, "vrf red\n vni 300\nexit-vrf\n");
  const vty = await frr.instance.router.vty("mgmtd", signal);
  const must = vty.must.bind(vty);
  let probes = 0;
  vi.spyOn(vty, "must").mockImplementation((line, ...more) => {
    if (!line.startsWith("show mgmt transaction")) return must(line, ...more);
    probes += 1;
    return Promise.resolve("MGMTD Transactions\n  Txn: 0x1\n    Txn-Id: \t\t\t71\n  Total: 1\n");
  });
  const now = performance.now.bind(performance);
  let aheadMs = 0;
  vi.spyOn(performance, "now").mockImplementation(() => now() + aheadMs);
  const end = new AbortController();
  const supervising = frr.instance.supervise(end.signal);
  onTestFinished(async () => {
    vi.restoreAllMocks();
    end.abort();
    await supervising;
  });

  await vi.waitFor(() => expect(probes).toBe(1), patient);
  aheadMs = 100_000;
  await vi.waitFor(() => expect(restarted).toEqual(["mgmtd hung"]), patient);
  expect(await running()).toContain("vrf red\n vni 300\n");
});
