import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Attempt } from "../../src/connectivity/history/attempt.ts";
import { createNamespaces, ip, type TestNamespaces } from "../support/namespaces.ts";
import type { Shortage } from "./fixtures/probe.ts";

const fixture = (name: string) => fileURLToPath(new URL(`fixtures/${name}.ts`, import.meta.url));

/** source (.1.1) - router (.1.254, .2.254) - far end (.2.2), in 10.9.0.0/16 and fd09::/16. */
let namespaces: TestNamespaces;
let source = "";
let farEnd: ChildProcess;
let directory = "";

beforeAll(async () => {
  namespaces = createNamespaces(3);
  const [near = "", router = "", far = ""] = namespaces.names;
  source = near;
  ip(router, `link add near type veth peer name eth0 netns ${near}`, `link add far type veth peer name eth0 netns ${far}`);
  ip(router, ...addresses("near", "10.9.1.254/24", "fd09:1::254/64"), ...addresses("far", "10.9.2.254/24", "fd09:2::254/64"));
  ip(
    near,
    ...addresses("eth0", "10.9.1.1/24", "fd09:1::1/64"),
    "route add 10.0.0.0/8 via 10.9.1.254",
    "route add fd00::/8 via fd09:1::254",
  );
  ip(
    far,
    ...addresses("eth0", "10.9.2.2/24", "fd09:2::2/64"),
    "route add 10.9.1.0/24 via 10.9.2.254",
    "route add fd09:1::/64 via fd09:2::254",
  );
  await sysctl(router, "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1");
  for (const [number, kind] of ["unreachable", "prohibit", "blackhole"].entries()) {
    ip(near, `route add ${kind} 10.2${number}.0.0/16`, `route add ${kind} fd2${number}::/16`);
    ip(router, `route add ${kind} 10.3${number}.0.0/16`, `route add ${kind} fd3${number}::/16`);
  }

  directory = await mkdtemp(join(tmpdir(), "plumbline-probe-"));
  await writeFile(join(directory, "resolv.conf"), "nameserver 10.9.2.2\noptions timeout:1 attempts:1\n");
  farEnd = spawn("ip", ["netns", "exec", far, process.execPath, fixture("far-end")], { stdio: ["pipe", "pipe", "inherit"] });
  if (farEnd.stdout) await once(farEnd.stdout, "data");
});

afterAll(async () => {
  farEnd.stdin?.end();
  await once(farEnd, "exit");
  await namespaces.remove();
  await rm(directory, { recursive: true });
});

const addresses = (device: string, ...list: string[]) => [
  ...list.map((address) => `addr add ${address} dev ${device} ${address.includes(":") ? "nodad" : ""}`),
  `link set ${device} up`,
];

async function sysctl(namespace: string, ...settings: string[]): Promise<void> {
  await promisify(execFile)("ip", ["netns", "exec", namespace, "sysctl", "-qw", ...settings]);
}

/** The attempts of a process at the source, with the far end for its name server. */
async function attempts(targets: readonly string[], lack: Shortage = "nothing", namespace = source): Promise<Attempt[]> {
  const enter = 'mount --bind "$0" /etc/resolv.conf && exec prlimit --nofile=200:200 "$@"';
  const command = ["sh", "-c", enter, join(directory, "resolv.conf"), process.execPath, fixture("probe"), lack, ...targets];
  const { stdout } = await promisify(execFile)("ip", ["netns", "exec", namespace, ...command]);
  return JSON.parse(stdout) as Attempt[];
}

const results = ({ actions, fault }: Attempt) => [
  ...actions.map(({ outcome, message }) => `${outcome}: ${message}`),
  ...(fault ? [fault] : []),
];

test("every result of a connection has the kernel's message", async () => {
  const expected: Record<string, string> = {
    "10.9.2.2:80": "ConnectDone: Connected to 10.9.2.2:80",
    "[fd09:2::2]:80": "ConnectDone: Connected to [fd09:2::2]:80",
    "10.9.2.2:81": "ConnectError: Failed connect to 10.9.2.2:81; Connection refused",
    "[fd09:2::2]:81": "ConnectError: Failed connect to [fd09:2::2]:81; Connection refused",
    // The address on the own link does not answer.
    "10.9.1.77:80": "ConnectError: Failed connect to 10.9.1.77:80; No route to host",
    "[fd09:1::77]:80": "ConnectError: Failed connect to [fd09:1::77]:80; No route to host",
    "192.0.2.1:80": "ConnectError: Failed connect to 192.0.2.1:80; Network is unreachable",
    "[2001:db8::1]:80": "ConnectError: Failed connect to [2001:db8::1]:80; Network is unreachable",
    // Routes of the source itself.
    "10.20.0.1:80": "ConnectError: Failed connect to 10.20.0.1:80; No route to host",
    "[fd20::1]:80": "ConnectError: Failed connect to [fd20::1]:80; No route to host",
    "10.21.0.1:80": "ConnectError: Failed connect to 10.21.0.1:80; Permission denied",
    "[fd21::1]:80": "ConnectError: Failed connect to [fd21::1]:80; Permission denied",
    "10.22.0.1:80": "ConnectError: Failed connect to 10.22.0.1:80; Invalid argument",
    "[fd22::1]:80": "ConnectError: Failed connect to [fd22::1]:80; Invalid argument",
    // Routes of a router on the way.
    "10.30.0.1:80": "ConnectError: Failed connect to 10.30.0.1:80; No route to host",
    "[fd30::1]:80": "ConnectError: Failed connect to [fd30::1]:80; Network is unreachable",
    "10.31.0.1:80": "ConnectError: Failed connect to 10.31.0.1:80; No route to host",
    "[fd31::1]:80": "ConnectError: Failed connect to [fd31::1]:80; Permission denied",
    "10.32.0.1:80": "ConnectError: Failed connect to 10.32.0.1:80; Connection timed out",
    "[fd32::1]:80": "ConnectError: Failed connect to [fd32::1]:80; Connection timed out",
  };
  const made = await attempts(Object.keys(expected));
  expect(Object.fromEntries(made.map((attempt) => [attempt.target, results(attempt).join("; ")]))).toEqual(expected);
  expect(made.filter(({ reachable }) => reachable).map(({ target }) => target)).toEqual(["10.9.2.2:80", "[fd09:2::2]:80"]);
});

test("lookups: both families, no such name, a failing server, a silent server, and a loopback answer", async () => {
  const made = await attempts(["both.test:80", "both.test:81", "nosuch.test:80", "servfail.test:80", "silent.test:80", "rebound.test:80"]);
  expect(made.map(results)).toEqual([
    [
      "DNSDone: both.test resolved to 10.9.2.2, fd09:2::2",
      "ConnectDone: Connection to both.test:80 established. (10.9.2.2)",
      "ConnectDone: Connection to both.test:80 established. (fd09:2::2)",
    ],
    [
      "DNSDone: both.test resolved to 10.9.2.2, fd09:2::2",
      "ConnectError: Failed connect to both.test:81; Connection refused (10.9.2.2)",
      "ConnectError: Failed connect to both.test:81; Connection refused (fd09:2::2)",
    ],
    ["DNSError: Failed to resolve nosuch.test; no such name"],
    ["DNSError: Failed to resolve servfail.test; the name server failed"],
    ["DNSError: Failed to resolve silent.test; the name server did not answer in time"],
    [
      "DNSDone: rebound.test resolved to 127.0.0.1",
      "ConnectError: Failed connect to rebound.test:80; 127.0.0.1 is a loopback address; allow it with --allow-target 127.0.0.1/32",
    ],
  ]);
});

describe("a source fault is reported", () => {
  test("without file descriptors", async () => {
    const made = await attempts(["10.9.2.2:80", "10.9.2.2:81", "both.test:80"], "descriptors");
    expect(made.map(results)).toEqual(made.map(() => ["The checker is out of file descriptors (EMFILE)"]));
  });

  test("without local ports", async () => {
    await sysctl(source, "net.ipv4.ip_local_port_range=40000 40001");
    try {
      expect((await attempts(["10.9.2.2:80"], "ports")).map(results)).toEqual([["The checker is out of local ports (EADDRNOTAVAIL)"]]);
    } finally {
      await sysctl(source, "net.ipv4.ip_local_port_range=32768 60999");
    }
  });
});

test("a closed port of the source itself stays closed when the kernel connects it to itself", async () => {
  await sysctl(source, "net.ipv4.ip_local_port_range=40001 40001");
  try {
    expect((await attempts(["10.9.1.1:40001", "[fd09:1::1]:40001"])).map(results)).toEqual([
      ["ConnectError: Failed connect to 10.9.1.1:40001; Connection refused"],
      ["ConnectError: Failed connect to [fd09:1::1]:40001; Connection refused"],
    ]);
  } finally {
    await sysctl(source, "net.ipv4.ip_local_port_range=32768 60999");
  }
});

test("a source without an address of the family cannot reach the target, which is no source fault", async () => {
  const alone = createNamespaces(1);
  const [namespace = ""] = alone.names;
  try {
    await sysctl(namespace, "net.ipv6.conf.all.disable_ipv6=1");
    expect((await attempts(["[::1]:80"], "nothing", namespace)).map(results)).toEqual([
      ["ConnectError: Failed connect to [::1]:80; Cannot assign requested address"],
    ]);
  } finally {
    await alone.remove();
  }
});
