import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parseAddress } from "../../src/ip/address.ts";
import { RouterConnector } from "../../src/connectivity/probe/router-connector.ts";
import type { RouterAnswer } from "../../src/connectivity/probe/reach-from-router.ts";
import { createNamespaces, ip, type TestNamespaces } from "../support/namespaces.ts";

/** A router with its uplink to a fabric, in which a Service answers. The VRFs of a router are in test/hostnet/vrf.test.ts. */
let namespaces: TestNamespaces;
let [router, fabric] = ["", ""];
let connector: RouterConnector;
let server: ChildProcess;

const SERVICE = "192.0.2.7";
const LISTEN = `
import socket
for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
    s = socket.socket(family)
    if family == socket.AF_INET6:
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    s.bind((address, 80))
    s.listen(64)
    globals()[address] = s
print("ready", flush=True)
import time
time.sleep(600)
`;

beforeEach(async () => {
  namespaces = createNamespaces(2);
  [router = "", fabric = ""] = namespaces.names;
  connector = new RouterConnector(router);
  server = spawn("ip", ["netns", "exec", fabric, "python3", "-c", LISTEN], { stdio: ["ignore", "pipe", "inherit"] });
  if (server.stdout) await once(server.stdout, "data");
});
afterEach(async () => {
  connector.close();
  server.kill("SIGKILL");
  await namespaces.remove();
});

function uplink(): void {
  ip(fabric, `link add port0 type veth peer name eth1 netns ${router}`);
  ip(
    fabric,
    "link set port0 up",
    "addr add 10.9.0.2/24 dev port0",
    "addr add fd00:9::2/64 dev port0 nodad",
    `addr add ${SERVICE}/32 dev lo`,
  );
  ip(router, "link set eth1 up", "addr add 10.9.0.1/24 dev eth1", "addr add fd00:9::1/64 dev eth1 nodad");
}

const connect = (address = SERVICE, { port = 80, vrf, ms = 3_000 }: { port?: number; vrf?: string; ms?: number } = {}) =>
  connector.connect(parseAddress(address), port, vrf, ms).result;
/** Without latencies. */
function codesOf(answer: RouterAnswer): unknown {
  if (typeof answer === "string" || "fault" in answer) return answer;
  return answer.results.map((one) => ("latencyMs" in one ? one.code : one));
}

test("a namespace without a link that is up and has an address is not that of a running router", async () => {
  expect(codesOf(await connect())).toBe("no router");
});

test("neither a link that is down nor one with a link-local address only makes a router", async () => {
  ip(router, "link add tunnel type bridge", "addr add 10.9.9.1/24 dev tunnel");
  ip(router, "link add one type veth peer name other", "link set one up", "link set other up");
  expect(codesOf(await connect())).toBe("no router");
});

test("connections go out of the router's namespace, by IPv4 and IPv6", async () => {
  uplink();
  ip(router, `route add ${SERVICE} via 10.9.0.2`);
  expect(codesOf(await connect())).toEqual([undefined]);
  expect(codesOf(await connect("fd00:9::2"))).toEqual([undefined]);
  expect(codesOf(await connect(SERVICE, { port: 81 }))).toEqual(["ECONNREFUSED"]);
});

test("each way to fail has its reason, also of a hundred connections at once", async () => {
  uplink();
  ip(router, "route add 192.0.2.0/24 via 10.9.0.2");
  ip(fabric, "route add blackhole 192.0.2.9/32", "route add unreachable 192.0.2.10/32");
  execFileSync("ip", ["netns", "exec", fabric, "sysctl", "-qw", "net.ipv4.ip_forward=1"]);
  expect(codesOf(await connect("198.51.100.1"))).toEqual(["ENETUNREACH"]);
  expect(codesOf(await connect("192.0.2.10"))).toEqual(["EHOSTUNREACH"]);
  expect(codesOf(await connect(SERVICE, { vrf: "red" }))).toEqual(["ENODEV"]);
  const many = await Promise.all(Array.from({ length: 100 }, (_, nth) => connect(nth % 2 ? SERVICE : "192.0.2.9", { ms: 500 })));
  expect(many.map(codesOf)).toEqual(Array.from({ length: 100 }, (_, nth) => [nth % 2 ? undefined : "ETIMEDOUT"]));
});

test("neither a source address that each router has nor a route to the own host is used", async () => {
  uplink();
  // As with a host session: its end has the same address on every node.
  ip(
    fabric,
    `link add host-200 type veth peer name pe-200 netns ${router}`,
    "link set host-200 up",
    "addr add 192.169.10.2/24 dev host-200",
  );
  ip(router, "addr del 10.9.0.1/24 dev eth1", "link set pe-200 up", "addr add 192.169.10.1/24 dev pe-200");
  ip(router, `route add ${SERVICE} dev eth1`);
  expect(codesOf(await connect())).toEqual([{ sharedSource: "192.169.10.1" }]);
  // A Service that the own host announces: its kube-proxy answers, whatever the fabric does.
  ip(router, `route replace ${SERVICE} via 192.169.10.2`);
  expect(codesOf(await connect())).toEqual([{ isOwnHost: true }]);
  expect(codesOf(await connect("192.169.10.1"))).toEqual([{ isOwnHost: true }]);
});

test("one process serves all checks, is started again when it was killed, and follows a namespace that was made anew", async () => {
  uplink();
  ip(router, `route add ${SERVICE} via 10.9.0.2`);
  const pids = () => execFileSync("ip", ["netns", "pids", router], { encoding: "utf8" }).trim().split("\n").map(Number);
  await connect();
  const [first = 0, ...others] = pids();
  expect(others).toEqual([]);
  process.kill(first, "SIGKILL");
  await expect.poll(async () => codesOf(await connect())).toEqual([undefined]);
  expect(pids()).not.toContain(first);

  execFileSync("ip", ["netns", "del", router]);
  execFileSync("ip", ["netns", "add", router]);
  expect(codesOf(await connect())).toBe("no router");
});

test("what waits fails when the process dies", async () => {
  uplink();
  ip(router, "route add 192.0.2.0/24 via 10.9.0.2");
  ip(fabric, "route add blackhole 192.0.2.9/32");
  await connect();
  const waiting = connect("192.0.2.9", { ms: 60_000 });
  const pids = execFileSync("ip", ["netns", "pids", router], { encoding: "utf8" }).trim().split("\n");
  for (const pid of pids) process.kill(Number(pid), "SIGKILL");
  expect(codesOf(await waiting)).toEqual({ fault: "Cannot connect from the router: its process ended" });
});

test("what waits in a namespace that was made anew fails at once", async () => {
  uplink();
  ip(router, "route add 192.0.2.0/24 via 10.9.0.2");
  ip(fabric, "route add blackhole 192.0.2.9/32");
  const waiting = connect("192.0.2.9", { ms: 60_000 });
  await connect();
  execFileSync("ip", ["netns", "del", router]);
  execFileSync("ip", ["netns", "add", router]);
  expect(codesOf(await connect())).toBe("no router");
  expect(codesOf(await waiting)).toEqual({ fault: "Cannot connect from the router: its process ended" });
});
