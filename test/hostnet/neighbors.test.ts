import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { probeStale } from "../../src/router/link-watcher.ts";

const router = `plt${randomBytes(3).toString("hex")}`;
const host = `${router}h`;

function ip(...args: string[]): string {
  return execFileSync("ip", args, { encoding: "utf8" });
}

function stateOf(address: string): string | undefined {
  const [neighbor] = JSON.parse(ip("-n", router, "-j", "neigh", "show", "to", address)) as { state: string[] }[];
  return neighbor?.state[0];
}

beforeAll(() => {
  for (const name of [router, host]) ip("netns", "add", name);
  ip("-n", router, "link", "add", "br-pe-110", "type", "bridge");
  ip("-n", router, "link", "add", "other", "type", "bridge");
  ip("-n", router, "link", "add", "pe-110", "type", "veth", "peer", "name", "eth0", "netns", host);
  ip("-n", router, "link", "set", "pe-110", "master", "br-pe-110", "up");
  ip("-n", router, "addr", "add", "192.0.2.1/24", "dev", "br-pe-110");
  ip("-n", router, "link", "set", "br-pe-110", "up");
  ip("-n", router, "link", "set", "other", "up");
  ip("-n", host, "addr", "add", "192.0.2.10/24", "dev", "eth0");
  ip("-n", host, "link", "set", "eth0", "up");
});

afterAll(() => {
  for (const name of [router, host]) ip("netns", "del", name);
});

test("a stale neighbor that answers becomes reachable, one that does not is removed, and those of other links stay", async () => {
  const [{ address = "" } = {}] = JSON.parse(ip("-n", host, "-j", "link", "show", "eth0")) as { address?: string }[];
  ip("-n", router, "neigh", "add", "192.0.2.10", "dev", "br-pe-110", "lladdr", address, "nud", "stale");
  ip("-n", router, "neigh", "add", "192.0.2.66", "dev", "br-pe-110", "lladdr", "02:00:00:00:00:66", "nud", "stale");
  ip("-n", router, "neigh", "add", "198.51.100.9", "dev", "other", "lladdr", "02:00:00:00:00:09", "nud", "stale");

  expect(await probeStale(router, (name) => name.startsWith("br-pe-"), AbortSignal.timeout(30_000))).toBe(2);

  await vi.waitFor(() => expect(stateOf("192.0.2.10")).toBe("REACHABLE"), { timeout: 60_000 });
  await vi.waitFor(() => expect([undefined, "FAILED"]).toContain(stateOf("192.0.2.66")), { timeout: 60_000 });
  expect(stateOf("198.51.100.9")).toBe("STALE");
});
