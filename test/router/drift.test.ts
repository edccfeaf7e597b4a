import { execFileSync, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLog } from "../../src/kube/log.ts";
import { MemoryBackends } from "../../src/router/testing/memory-backends.ts";
import { type RouterInputs, NodeRouter, type PassResult } from "../../src/router/node-router.ts";
import { createNamespaces, type TestNamespaces } from "../support/namespaces.ts";

// The kernel is real, FRR is not: a test decides what zebra knows, and what happens while it is asked.

const { signal } = new AbortController();
const GATEWAY = "192.169.20.1/24";

let namespaces: TestNamespaces;
let directory: string;
let router: NodeRouter;
/** Runs once, when a pass asks zebra for its addresses: the links were read before. */
let meanwhile: (() => Map<string, Set<string>>) | undefined;
/** What the zebra of the load balancer in the host's namespace knows; undefined: it does not run. */
let hostKnows: Map<string, Set<string>> | undefined;

beforeEach(async () => {
  namespaces = createNamespaces(2);
  directory = await mkdtemp(join(tmpdir(), "plumbline-drift-"));
  const [host = "", netns = ""] = namespaces.names;
  ip("-n", host, "link", "add", "eth1", "type", "veth", "peer", "name", "tor");
  const backends = new MemoryBackends();
  router = new NodeRouter({
    namespaces: { host, router: netns },
    stateDirectory: directory,
    bootFile: join(directory, "frr.conf"),
    apiServer: "unix:/nobody",
    frr: {
      open: () => Promise.resolve(backends.daemons),
      running: () => Promise.resolve([]),
      addresses() {
        const [now, nothing] = [meanwhile, new Map<string, Set<string>>()];
        meanwhile = undefined;
        return Promise.resolve().then(() => now?.() ?? nothing);
      },
      hostAddresses: () => (hostKnows ? Promise.resolve(hostKnows) : Promise.reject(new Error("no FRR runs"))),
    },
    log: createLog({ level: "silent" }),
  });
  await pass();
});

afterEach(async () => {
  meanwhile = undefined;
  hostKnows = undefined;
  await namespaces.remove();
  await rm(directory, { recursive: true });
});

function ip(...args: string[]): string {
  return execFileSync("ip", args, { encoding: "utf8" });
}

function addresses(): string {
  return ip("-n", router.namespaces.router, "addr", "show", "dev", "pt-ns");
}

function inRouter(...command: string[]): string {
  return ip("netns", "exec", router.namespaces.router, ...command).trim();
}

function flush(): void {
  ip("-n", router.namespaces.router, "addr", "flush", "dev", "pt-ns");
}

const metadata = (name: string) => ({ name, namespace: "openperouter-system", uid: name, generation: 1 });

const view = {
  node: { metadata: { name: "n1" }, spec: {} },
  index: () => Promise.resolve(0),
  objects: {
    underlays: [
      {
        metadata: metadata("fabric"),
        spec: { asn: 64514, nics: ["eth1"], routeridcidr: "10.0.0.0/24", neighbors: [{ asn: 64512, address: "192.168.11.2" }] },
      },
    ],
    l2vnis: [],
    l3vnis: [],
    passthroughs: [
      { metadata: metadata("pt"), spec: { hostsession: { asn: 64514, hostasn: 64515, localcidr: { ipv4: "192.169.20.0/24" } } } },
    ],
    rawConfigs: [],
  },
  secret: () => undefined,
} as unknown as RouterInputs;

function pass(): Promise<PassResult> {
  const hooks = { apiAnswers: () => Promise.resolve(true), onRebuild: () => undefined, onNewNamespace: () => undefined };
  return router.pass(view, hooks, signal);
}

/** The addresses that the kernel tells the host's namespace of while a pass runs, by link. */
async function announcedInHost(): Promise<string[]> {
  const monitor = spawn("ip", ["-n", router.namespaces.host ?? "", "-o", "monitor", "address"], { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  monitor.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()));
  // It listens once it tells of a first address.
  const listening = () => {
    ip("-n", router.namespaces.host ?? "", "addr", "replace", "203.0.113.1/32", "dev", "lo");
    return text.includes("203.0.113.1");
  };
  await vi.waitUntil(listening, { timeout: 60_000 });
  await pass();
  ip("-n", router.namespaces.host ?? "", "addr", "replace", "203.0.113.2/32", "dev", "lo");
  await vi.waitUntil(() => text.includes("203.0.113.2"), { timeout: 60_000 });
  monitor.kill();
  return [...text.matchAll(/: (\S+) +inet (\S+)/g)]
    .map(([, link, address]) => `${link} ${address}`)
    .filter((one) => !one.startsWith("lo "));
}

test("an address of a HostSession that the load balancer's FRR missed is announced again, and nothing else", async () => {
  ip("-n", router.namespaces.host ?? "", "link", "add", "person", "type", "bridge");
  ip("-n", router.namespaces.host ?? "", "addr", "add", "198.51.100.1/24", "dev", "person");
  ip("-n", router.namespaces.host ?? "", "link", "set", "person", "up");
  expect(await announcedInHost()).toEqual([]);
  hostKnows = new Map([
    ["pt-host", new Set()],
    ["person", new Set()],
  ]);
  expect(await announcedInHost()).toEqual(["pt-host 192.169.20.2/24"]);
});

const REPAIR = { owner: "L3Passthrough/pt", links: 1, lines: 0, drift: true };

test("an address that is flushed during a pass is restored by the next pass, which reports the drift", async () => {
  meanwhile = () => {
    flush();
    return new Map([["pt-ns", new Set()]]);
  };
  expect((await pass()).done?.changes).toEqual([]);
  expect((await pass()).done?.changes).toEqual([REPAIR]);
  expect(addresses()).toContain(GATEWAY);
});

test("a repair is reported by the next pass when FRR fails after it in the same pass", async () => {
  flush();
  meanwhile = () => {
    throw new Error("zebra is gone");
  };
  expect(await pass()).toMatchObject({ outcome: { unavailable: "zebra is gone" } });
  expect(addresses()).toContain(GATEWAY);
  expect((await pass()).done?.changes).toEqual([REPAIR]);
  expect((await pass()).done?.changes).toEqual([]);
});

test("a repair is reported by the next pass when this one is aborted after it", async () => {
  flush();
  const timeout = new AbortController();
  meanwhile = () => {
    timeout.abort(new Error("too late"));
    throw new Error("too late");
  };
  const hooks = { apiAnswers: () => Promise.resolve(true), onRebuild: () => undefined, onNewNamespace: () => undefined };
  await expect(router.pass(view, hooks, timeout.signal)).rejects.toThrow("too late");
  expect((await pass()).done?.changes).toEqual([REPAIR]);
});

test("changed sysctls in the router's namespace are reverted and reported as drift", async () => {
  const names = ["net.ipv4.ip_forward", "net.ipv4.conf.eth1.rp_filter", "net.ipv4.conf.eth1.arp_filter", "net.ipv4.ip_default_ttl"];
  await pass();
  const before = names.map((name) => inRouter("sysctl", "-n", name));
  inRouter("sysctl", "-qw", "net.ipv4.ip_forward=0", ...names.slice(1).map((name) => `${name}=1`));
  expect((await pass()).done?.changes).toEqual([{ owner: "Underlay/fabric", links: expect.any(Number) as number, lines: 0, drift: true }]);
  expect(names.map((name) => inRouter("sysctl", "-n", name))).toEqual(before);
  expect((await pass()).done?.changes).toEqual([]);
});

test("a foreign object in the router's namespace is reported with its text, and stays", async () => {
  expect((await pass()).outcome.foreign).toEqual([]);
  ip("-n", router.namespaces.router, "rule", "add", "ipproto", "udp", "dport", "4789", "blackhole");
  const text = "32765: from all ipproto udp dport 4789 blackhole";
  expect((await pass()).outcome.foreign).toEqual([{ object: "rule", netns: "router", text }]);
  expect(ip("-n", router.namespaces.router, "rule")).toContain("blackhole");
});
