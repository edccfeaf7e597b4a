import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import type { KernelError } from "../../src/hostnet/error.ts";
import { watchLinks, watchNamespace } from "../../src/hostnet/watch-links.ts";
import { createNamespaces, ip, type TestNamespaces } from "../support/namespaces.ts";

let namespaces: TestNamespaces;
let host: string;
let router: string;
let rings: number;
let restarts: KernelError[];
let stop: AbortController;
let watching: Promise<void>;

beforeEach(async () => {
  namespaces = createNamespaces(2);
  [host = "", router = ""] = namespaces.names;
  rings = 0;
  restarts = [];
  stop = new AbortController();
  watching = watchLinks(
    { host, router },
    () => (rings += 1),
    stop.signal,
    (cause) => restarts.push(cause),
  );
  // Each of the two rings once it listens.
  await vi.waitUntil(() => rings >= 2, { timeout: 60_000 });
  rings = 0;
});

afterEach(async () => {
  stop.abort();
  await watching;
  await namespaces.remove();
});

const inRouter = (...command: string[]) => execFileSync("ip", ["netns", "exec", router, ...command]);
const rung = () => vi.waitFor(() => expect(rings).toBeGreaterThan(0), { timeout: 60_000 });

test("changes of links and addresses in either namespace are notified", async () => {
  ip(host, "link add b0 type bridge");
  await rung();
  rings = 0;
  ip(router, "addr add 192.0.2.1/24 dev lo");
  await rung();
  expect(restarts).toEqual([]);
});

test.each([
  ["forwarding", () => inRouter("sysctl", "-qw", "net.ipv4.ip_forward=1")],
  ["rp_filter of an interface", () => inRouter("sysctl", "-qw", "net.ipv4.conf.lo.rp_filter=1")],
  ["a policy rule", () => ip(router, "rule add pref 5 ipproto udp dport 4789 blackhole")],
])("a change of %s in the router's namespace is notified", async (_what, change) => {
  change();
  await rung();
  expect(restarts).toEqual([]);
});

test("a killed watch is restarted, and notifies once for missed changes", async () => {
  process.kill(monitorOf(router), "SIGKILL");
  await rung();
  expect(restarts).toMatchObject([{ code: "Unreachable", namespace: router, text: "ip monitor ended" }]);
  rings = 0;
  ip(router, "link add b0 type bridge");
  await rung();
});

test("a watch that is slow to start notifies when it listens, so that no change is missed", async () => {
  const directory = await mkdtemp(join(tmpdir(), "plumbline-links-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  await writeFile(join(directory, "ip"), `#!/bin/sh\nsleep 1\nexec env PATH='${process.env["PATH"]}' ip "$@"\n`, { mode: 0o755 });
  vi.stubEnv("PATH", `${directory}:${process.env["PATH"]}`);
  const ended = new AbortController();
  let slowRings = 0;
  const slow = watchNamespace(host, () => (slowRings += 1), ended.signal);
  vi.unstubAllEnvs();
  await vi.waitUntil(() => slowRings > 0, { timeout: 60_000 });
  slowRings = 0;
  ip(host, "link add b0 type bridge");
  await vi.waitFor(() => expect(slowRings).toBeGreaterThan(0), { timeout: 60_000 });
  ended.abort();
  await slow;
});

test("the watches end with the signal", async () => {
  const monitors = [monitorOf(host), monitorOf(router)];
  stop.abort();
  await watching;
  for (const pid of monitors) expect(() => process.kill(pid, 0)).toThrow("ESRCH");
});

test("retries a namespace that cannot be entered, and reports the reason", async () => {
  const ended = new AbortController();
  const reasons: string[] = [];
  const missing = watchLinks(
    { host, router: `${router}x` },
    () => {},
    ended.signal,
    ({ text }) => reasons.push(text),
  );
  await vi.waitFor(() => expect(reasons.length).toBeGreaterThan(1), { timeout: 60_000 });
  ended.abort();
  await missing;
  expect(reasons[0]).toBe(`Cannot open network namespace "${router}x": No such file or directory`);
});

function monitorOf(namespace: string): number {
  const pid = readdirSync("/proc").find((entry) => {
    try {
      return (
        /^\d+$/.test(entry) &&
        readFileSync(`/proc/${entry}/cmdline`, "utf8").startsWith(["ip", "-n", namespace, "monitor", "link", "address", ""].join("\0"))
      );
    } catch {
      return false;
    }
  });
  if (pid === undefined) throw new Error(`nobody watches ${namespace}`);
  return Number(pid);
}

test("refreshed service addresses are not notified, and a removed one is", async () => {
  ip(host, "link add b0 type bridge");
  await rung();
  const keep = "addr replace 192.0.2.100/32 dev b0 scope host valid_lft 25 preferred_lft 0 metric 26740";
  ip(host, keep);
  await new Promise((resolve) => setTimeout(resolve, 500));
  rings = 0;
  for (let time = 0; time < 5; time++)
    ip(host, keep, "addr replace 2001:db8::100/128 dev b0 nodad valid_lft 25 preferred_lft 0 metric 26740");
  // By then what was said before has arrived too.
  ip(router, "addr add 192.0.2.1/24 dev lo");
  await rung();
  expect(rings).toBe(1);
  rings = 0;
  ip(host, "addr del 192.0.2.100/32 dev b0");
  await rung();
});
