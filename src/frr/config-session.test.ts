import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { parse } from "./config.ts";
import { ConfigSession } from "./config-session.ts";
import { diff, type LineChange } from "./diff.ts";
import type { FrrClient } from "./client.ts";
import type { Vty, VtyReply } from "./vty.ts";

const { signal } = new AbortController();

/** Daemons that accept every line except those that the test rejects. */
class Daemons {
  readonly sent: string[] = [];
  reject: (line: string) => VtyReply | undefined = () => undefined;
  closed = 0;

  open(daemon: string): Promise<Vty> {
    const run = (line: string): Promise<VtyReply> => {
      this.sent.push(`${daemon}> ${line}`);
      return Promise.resolve(this.reject(line) ?? { status: 0, text: "" });
    };
    const vty = { daemon, run, must: async (line: string) => (await run(line)).text, close: () => (this.closed += 1) };
    return Promise.resolve(vty as unknown as Vty);
  }
}

let daemons: Daemons;
let console: ConfigSession;
beforeEach(() => {
  vi.useFakeTimers();
  daemons = new Daemons();
  console = new ConfigSession(daemons as unknown as FrrClient, signal);
});
afterEach(() => vi.useRealTimers());

async function sendAll(changes: readonly LineChange[]): Promise<(string | undefined)[]> {
  const problems: (string | undefined)[] = [];
  for (const change of changes) problems.push(await console.send(change));
  return problems;
}

const tries = () => daemons.sent.filter((line) => line.endsWith("no router bgp 1 vrf red")).length;

const INSTANCES = `router bgp 1
 bgp router-id 1.1.1.1
 address-family ipv4 unicast
  network 10.0.0.0/24
 exit-address-family
 address-family ipv6 unicast
  network fd00::/64
 exit-address-family
exit
router bgp 1 vrf red
exit
`;

test("connections that a pass left open are closed before the next one opens its own", async () => {
  const changes = diff([], parse("vrf red\n vni 100\nexit-vrf\n"));
  await sendAll(changes);
  expect(daemons.closed).toBe(0);
  const next = new ConfigSession(daemons as unknown as FrrClient, signal);
  expect(daemons.closed).toBe(1);
  await next.open(["frr"]);
  await vi.advanceTimersByTimeAsync(600_000);
  expect(daemons.closed).toBe(1);
});

test("contexts are entered once, and left only if FRR requires it for the next one", async () => {
  await sendAll(diff([], parse(`${INSTANCES}bfd\n profile a\n exit\n profile b\n exit\nexit\n`)));
  expect(daemons.sent.map((line) => line.replace("frr> ", ""))).toEqual([
    "configure terminal",
    "bfd",
    "profile a",
    "exit",
    "profile b",
    "exit",
    "exit",
    "router bgp 1",
    "bgp router-id 1.1.1.1",
    "address-family ipv4 unicast",
    "network 10.0.0.0/24",
    "address-family ipv6 unicast",
    "network fd00::/64",
    "exit",
    "exit",
    "router bgp 1 vrf red",
  ]);
});

test("after a rejection every line starts at the top level: FRR may have left the context", async () => {
  daemons.reject = (line) =>
    line.startsWith("bgp router-id") ? { status: 2, text: "% [BGP] Unknown command: bgp router-id\n" } : undefined;
  const changes = diff(parse("router bgp 1\nexit\n"), parse(INSTANCES)).slice(0, 2);
  expect(await sendAll(changes)).toEqual(["Unknown command: bgp router-id", undefined]);
  expect(daemons.sent.map((line) => line.replace("frr> ", ""))).toEqual([
    "configure terminal",
    "router bgp 1",
    "bgp router-id 1.1.1.1",
    "end",
    "configure terminal",
    "router bgp 1",
    "address-family ipv4 unicast",
    "network 10.0.0.0/24",
  ]);
});

test("a line whose context mgmtd lost is sent again from the top level", async () => {
  let forgotten = 0;
  daemons.reject = (line) =>
    line === "vni 100" && forgotten++ === 0
      ? { status: 1, text: "Current configuration object was deleted by another process.\n\n" }
      : undefined;
  const sent = sendAll(diff(parse("vrf red\nexit-vrf\n"), parse("vrf red\n vni 100\nexit-vrf\n")));
  await vi.advanceTimersByTimeAsync(100);
  expect(await sent).toEqual([undefined]);
  expect(daemons.sent.map((line) => line.replace("frr> ", "")).slice(1)).toEqual([
    "vrf red",
    "vni 100",
    "end",
    "configure terminal",
    "vrf red",
    "vni 100",
  ]);
});

test("a daemon that left mgmtd during a commit is a failure of FRR, not of the line", async () => {
  daemons.reject = (line) =>
    line === "vni 100"
      ? { status: 13, text: "% Configuration failed.\n\nBackend daemon disconnected while processing commit!\n" }
      : undefined;
  await expect(sendAll(diff([], parse("vrf red\n vni 100\nexit-vrf\n")))).rejects.toMatchObject({ name: "VtyError", code: "Closed" });
});

describe("an instance that waits for the removal of its VNI", () => {
  const removal = diff(parse("vrf red\n vni 100\nexit-vrf\nrouter bgp 1 vrf red\nexit\n"), []);

  test("is sent again until bgpd has removed the VNI", async () => {
    daemons.reject = (line) =>
      line.startsWith("no router") && tries() < 4 ? { status: 13, text: "% Please unconfigure l3vni 100\n" } : undefined;
    const sent = sendAll(removal);
    await vi.advanceTimersByTimeAsync(100);
    expect(await sent).toEqual([undefined, undefined]);
    expect(tries()).toBe(4);
  });

  test("is rejected when bgpd keeps the instance too long", async () => {
    daemons.reject = (line) => (line.startsWith("no router") ? { status: 13, text: "% Please unconfigure l3vni 100\n" } : undefined);
    const sent = sendAll(removal);
    await vi.advanceTimersByTimeAsync(6_000);
    expect(await sent).toEqual([undefined, "Please unconfigure l3vni 100"]);
    expect(tries()).toBeLessThan(600);
  });

  test("is rejected at once for any other reason", async () => {
    daemons.reject = (line) => (line.startsWith("no router") ? { status: 13, text: "% Busy\n" } : undefined);
    expect(await sendAll(removal)).toEqual([undefined, "Busy"]);
    expect(tries()).toBe(1);
  });
});

test("idle connections are closed", async () => {
  await sendAll(diff([], parse("hostname a\n")));
  await vi.advanceTimersByTimeAsync(119_000);
  expect(daemons.closed).toBe(0);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(daemons.closed).toBe(1);
});
