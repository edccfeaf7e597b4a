import { once } from "node:events";
import { createServer, type AddressInfo, type Server } from "node:net";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { parsePrefix } from "../../ip/prefix.ts";
import { checkFaults, lookupsAbandoned } from "../metrics.ts";
import type { Action, Attempt } from "../history/attempt.ts";
import { probe, type ProbeOptions } from "./probe.ts";
import { Lookups, type LookupResult } from "./lookups.ts";
import { parseTarget, type Target } from "./target.ts";
import type { Connect } from "./tcp.ts";

const loopback = [parsePrefix("127.0.0.0/8"), parsePrefix("::1/128")];
const forever = new AbortController().signal;

let server: Server;
let port = 0;
/** Of a server that is gone. */
let closed = 0;

beforeAll(async () => {
  const gone = createServer().listen(0, "127.0.0.1");
  await once(gone, "listening");
  closed = (gone.address() as AddressInfo).port;
  gone.close();
  await once(gone, "close");
  server = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
  await once(server, "listening");
  port = (server.address() as AddressInfo).port;
});
afterAll(() => server.close());
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
});

function target(text: string): Target {
  const parsed = parseTarget(text);
  if ("problem" in parsed) throw new Error(parsed.problem);
  return parsed;
}

const probed = (text: string, options: Partial<ProbeOptions> = {}): Promise<Attempt> =>
  probe(target(text), 3, { signal: forever, allowed: loopback, ...options });

/** Without what differs from run to run. */
const summary = ({ actions, reachable, fault }: Attempt) => ({
  actions: actions.map(({ outcome, message }) => `${outcome}: ${message}`),
  reachable,
  ...(fault !== undefined && { fault }),
});

const answering = (...addresses: string[]) => new Lookups(async () => ({ addresses }), 1);
const failing = (code: string, afterMs = 1) => new Lookups(async () => ({ code, afterMs }), 1);
const never = <R>() => new Promise<R>(() => {});

/** Connections that end as told for each address, where nothing else is told at once and well. */
function connections(endings: Record<string, string | Promise<string | undefined>> = {}) {
  const tried: string[] = [];
  const canceled: string[] = [];
  const connect: Connect = (address, at) => {
    tried.push(`${address.toString()} ${at}`);
    return { result: Promise.resolve(endings[address.toString()]), cancel: () => canceled.push(address.toString()) };
  };
  return { connect, tried, canceled };
}

test("an address that answers is one connection, with its start and duration", async () => {
  const attempt = await probed(`127.0.0.1:${port}`);
  expect(attempt).toEqual({
    seq: 3,
    at: expect.any(Number) as number,
    target: `127.0.0.1:${port}`,
    actions: [
      {
        outcome: "ConnectDone",
        at: expect.any(Number) as number,
        latencyMs: expect.any(Number) as number,
        message: `Connected to 127.0.0.1:${port}`,
      },
    ],
    reachable: true,
  });
});

test("a name is looked up before the connection", async () => {
  expect(summary(await probed(`localhost:${port}`, { lookups: new Lookups() }))).toEqual({
    actions: [
      expect.stringMatching(/^DNSDone: localhost resolved to .*127\.0\.0\.1/) as string,
      ...(await localhostAddresses()).map((address) => expect.stringContaining(address) as string),
    ],
    reachable: true,
  });
});

/** A machine may have ::1 for localhost, too. */
async function localhostAddresses(): Promise<string[]> {
  const lookup = await new Lookups().ask("localhost").result;
  const found = "addresses" in lookup ? lookup.addresses : [];
  return found.length > 1 ? [...found].toSorted() : [`Connection to localhost:${port} established.`];
}

test("a closed port is a refused connection, and the message has no local port", async () => {
  expect(summary(await probed(`127.0.0.1:${closed}`))).toEqual({
    actions: [`ConnectError: Failed connect to 127.0.0.1:${closed}; Connection refused`],
    reachable: false,
  });
});

test("a connection without an answer times out at the deadline", async () => {
  vi.useFakeTimers();
  const { connect, canceled } = connections({ "10.0.0.1": never() });
  const attempt = probed("10.0.0.1:80", { connect });
  await vi.advanceTimersByTimeAsync(4999);
  expect(canceled).toEqual([]);
  await vi.advanceTimersByTimeAsync(2);
  expect(summary(await attempt)).toEqual({
    actions: ["ConnectError: Failed connect to 10.0.0.1:80; Connection timed out"],
    reachable: false,
  });
  expect(canceled).toEqual(["10.0.0.1"]);
  expect(vi.getTimerCount()).toBe(0);
});

test.each([
  ["EHOSTUNREACH", "No route to host"],
  ["ENETUNREACH", "Network is unreachable"],
  ["ECONNRESET", "Connection reset by peer"],
  ["ETIMEDOUT", "Connection timed out"],
  ["EACCES", "Permission denied"],
  ["EPERM", "Operation not permitted"],
  ["ENOTCONN", "Socket is not connected"],
  ["EWHATEVER", "EWHATEVER"],
])("%s is a failure of the path: %s", async (code, text) => {
  const attempt = await probed("[fd00::1]:80", { connect: connections({ "fd00::1": code }).connect });
  expect(summary(attempt)).toEqual({ actions: [`ConnectError: Failed connect to [fd00::1]:80; ${text}`], reachable: false });
});

test.each([
  ["EMFILE", "descriptors", "The checker is out of file descriptors (EMFILE)"],
  ["ENFILE", "descriptors", "The checker is out of file descriptors (ENFILE)"],
  ["EADDRNOTAVAIL", "ports", "The checker is out of local ports (EADDRNOTAVAIL)"],
  ["ENOBUFS", "memory", "The checker is out of memory for sockets (ENOBUFS)"],
  ["ENOMEM", "memory", "The checker is out of memory for sockets (ENOMEM)"],
])("%s is a source fault and no failure", async (code, cause, fault) => {
  const before = await countOf(cause);
  const attempt = await probed("127.0.0.9:80", { connect: connections({ "127.0.0.9": code }).connect });
  expect(summary(attempt)).toEqual({ actions: [], reachable: false, fault });
  expect(await countOf(cause)).toBe(before + 1);
});

async function countOf(cause: string): Promise<number> {
  return (await checkFaults.get()).values.find(({ labels }) => labels.cause === cause)?.value ?? 0;
}

test("each address of a name is probed and listed, and one that answers is enough", async () => {
  const { connect, tried } = connections({ "10.0.0.2": "ECONNREFUSED" });
  const lookups = answering("fd00::1", "10.0.0.2", "10.0.0.1", "10.0.0.2");
  expect(summary(await probed("web:80", { lookups, connect }))).toEqual({
    actions: [
      "DNSDone: web resolved to 10.0.0.1, 10.0.0.2, fd00::1",
      "ConnectDone: Connection to web:80 established. (10.0.0.1)",
      "ConnectError: Failed connect to web:80; Connection refused (10.0.0.2)",
      "ConnectDone: Connection to web:80 established. (fd00::1)",
    ],
    reachable: true,
  });
  expect(tried).toEqual(["10.0.0.1 80", "10.0.0.2 80", "fd00::1 80"]);
});

test("a name without an answering address is not reachable", async () => {
  const { connect } = connections({ "10.0.0.1": "ECONNREFUSED", "fd00::1": "ENETUNREACH" });
  expect(await probed("web:80", { lookups: answering("10.0.0.1", "fd00::1"), connect })).toMatchObject({ reachable: false });
});

test("an address that could not be probed is a source fault unless another one answers", async () => {
  const lookups = answering("10.0.0.1", "10.0.0.2");
  const failed = await probed("web:80", { lookups, connect: connections({ "10.0.0.1": "EMFILE", "10.0.0.2": "ECONNREFUSED" }).connect });
  expect(failed.fault).toBe("The checker is out of file descriptors (EMFILE)");
  const answered = await probed("web:80", { lookups, connect: connections({ "10.0.0.1": "EMFILE" }).connect });
  expect(summary(answered)).toEqual({
    actions: ["DNSDone: web resolved to 10.0.0.1, 10.0.0.2", "ConnectDone: Connection to web:80 established. (10.0.0.2)"],
    reachable: true,
  });
});

test("sixteen addresses of a name with very many are probed, and the message stays short", async () => {
  const host = `${"a".repeat(60)}.${"b".repeat(60)}.${"c".repeat(60)}.${"d".repeat(60)}`;
  const many = Array.from({ length: 100 }, (_, n) => `fd00:1111:2222:3333:4444:5555:6666:${(0x1000 + n).toString(16)}`);
  const { connect, tried } = connections();
  const { actions } = await probed(`${host}:80`, { lookups: answering(...many), connect });
  expect(tried).toHaveLength(16);
  expect(actions[0]?.message).toMatch(/:1004 and 11 more and 84 not checked$/);
  expect(actions.every(({ message }) => message.length <= 512)).toBe(true);
});

test.each<[string, number, string]>([
  ["ENOTFOUND", 1, "no such name"],
  ["EAI_AGAIN", 20, "the name server failed"],
  ["EAI_AGAIN", 2000, "the name server did not answer in time"],
  ["EAI_FAIL", 1, "the name server failed"],
])("a lookup that ends with %s after %d ms: %s", async (code, afterMs, text) => {
  const { connect, tried } = connections();
  expect(summary(await probed("web:80", { lookups: failing(code, afterMs), connect }))).toEqual({
    actions: [`DNSError: Failed to resolve web; ${text}`],
    reachable: false,
  });
  expect(tried).toEqual([]);
});

test("a lookup without a usable address counts as not found", async () => {
  expect(summary(await probed("web:80", { lookups: answering("fe80::1%eth0") })).actions).toEqual([
    "DNSError: Failed to resolve web; no such name",
  ]);
});

test("a lookup that fails for lack of file descriptors is a source fault", async () => {
  expect(await probed("web:80", { lookups: failing("EMFILE") })).toMatchObject({
    actions: [],
    fault: expect.stringContaining("EMFILE") as string,
  });
});

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const silent = (): LookupResult => ({ code: "EAI_AGAIN", afterMs: 8000 });
const abandoned = async () => (await lookupsAbandoned.get()).values[0]?.value ?? 0;

test("a lookup has its own deadline, and counts as running until it ends", async () => {
  vi.useFakeTimers();
  const before = await abandoned();
  const answer = Promise.withResolvers<LookupResult>();
  const lookups = new Lookups(() => answer.promise, 1);
  const attempt = probed("web:80", { lookups });
  await vi.advanceTimersByTimeAsync(5001);
  expect(summary(await attempt).actions).toEqual(["DNSError: Failed to resolve web; the name server did not answer in time"]);
  expect(await abandoned()).toBe(before + 1);
  answer.resolve({ addresses: [] });
  await vi.advanceTimersByTimeAsync(0);
  expect(await abandoned()).toBe(before);
});

/** Probes names at once, and tells what each came to at its deadline. */
async function atDeadline(lookups: Lookups, ...hosts: string[]): Promise<string[]> {
  const attempts = Promise.all(hosts.map((host) => probed(`${host}:1`, { lookups, connect: connections().connect })));
  await vi.advanceTimersByTimeAsync(5001);
  return (await attempts).map(({ actions, fault }) => fault ?? actions[0]?.message ?? "");
}

test("if no name is answered, lookups that wait for a thread time out too", async () => {
  vi.useFakeTimers();
  const queried: string[] = [];
  const lookups = new Lookups((host) => {
    queried.push(host);
    return never();
  }, 2);
  expect(await atDeadline(lookups, "a", "b", "c", "A")).toEqual(
    ["a", "b", "c", "A"].map((host) => `Failed to resolve ${host}; the name server did not answer in time`),
  );
  expect(queried).toEqual(["a", "b"]);
});

test("a lookup that waits for a thread behind unanswered ones times out", async () => {
  vi.useFakeTimers();
  const lookups = new Lookups(() => sleep(3000).then(() => ({ code: "EAI_AGAIN", afterMs: 3000 })), 1);
  expect((await atDeadline(lookups, "a", "b", "c"))[2]).toBe("Failed to resolve c; the name server did not answer in time");
});

test("while a slow name server answers others, a lookup without a thread is a source fault", async () => {
  vi.useFakeTimers();
  const lookups = new Lookups(() => sleep(3000).then(() => ({ addresses: ["10.0.0.1"] })), 1);
  expect((await atDeadline(lookups, "a", "b", "c"))[2]).toBe("Name not resolved: all lookup threads are busy");
});

test("names without an answer last time leave a thread to the others", async () => {
  vi.useFakeTimers();
  const lookups = new Lookups((host) => (host === "good" ? Promise.resolve({ addresses: ["10.0.0.1"] }) : sleep(8000).then(silent)), 2);
  for (let round = 0; round < 2; round++) {
    await atDeadline(lookups, "a", "b", "c");
    await vi.advanceTimersByTimeAsync(60_000);
  }
  const [, , , good] = await atDeadline(lookups, "a", "b", "c", "good");
  expect(good).toBe("good resolved to 10.0.0.1");
});

test.each([
  [undefined, 2],
  ["1", 1],
  ["32", 16],
  ["5000", 512],
  ["many", 1],
])("with UV_THREADPOOL_SIZE=%s %d lookups are made at a time", async (size, atOnce) => {
  vi.stubEnv("UV_THREADPOOL_SIZE", size);
  const stop = new AbortController();
  let queried = 0;
  const lookups = new Lookups(() => {
    queried += 1;
    return never();
  });
  const attempts = Array.from({ length: 600 }, (_, n) => probed(`web-${n}:1`, { lookups, signal: stop.signal }).catch(() => {}));
  expect(queried).toBe(atOnce);
  stop.abort();
  await Promise.all(attempts);
});

test("a free thread takes the next lookup of the queue", async () => {
  const first = Promise.withResolvers<LookupResult>();
  const lookups = new Lookups((host) => (host === "a" ? first.promise : Promise.resolve({ addresses: ["10.0.0.1"] })), 1);
  const [a, b] = ["a:1", "b:1"].map((text) => probed(text, { lookups, connect: connections().connect }));
  first.resolve({ addresses: ["10.0.0.2"] });
  expect((await a)?.reachable).toBe(true);
  expect((await b)?.reachable).toBe(true);
});

test("a forbidden address is not probed, as a target or as the result of a lookup", async () => {
  const { connect, tried } = connections();
  const failed = "127.0.0.1 is a loopback address; allow it with --allow-target 127.0.0.1/32";
  expect(summary(await probed("127.0.0.1:22", { connect, allowed: [] }))).toEqual({
    actions: [`ConnectError: Failed connect to 127.0.0.1:22; ${failed}`],
    reachable: false,
  });
  expect(summary(await probed("rebound:22", { connect, allowed: [], lookups: answering("127.0.0.1", "10.0.0.1") }))).toEqual({
    actions: [
      "DNSDone: rebound resolved to 10.0.0.1, 127.0.0.1",
      "ConnectDone: Connection to rebound:22 established. (10.0.0.1)",
      `ConnectError: Failed connect to rebound:22; ${failed} (127.0.0.1)`,
    ],
    reachable: true,
  });
  expect(tried).toEqual(["10.0.0.1 22"]);
});

test("an abort ends a lookup and a connection at once, and leaves no timer", async () => {
  vi.useFakeTimers();
  const stop = new AbortController();
  const { connect, canceled } = connections({ "10.0.0.1": never() });
  const connecting = probed("10.0.0.1:80", { connect, signal: stop.signal }).catch(String);
  const resolving = probed("web:80", { lookups: new Lookups(never, 1), signal: stop.signal }).catch(String);
  await vi.advanceTimersByTimeAsync(1000);
  stop.abort(new Error("the end"));
  expect(await Promise.all([connecting, resolving])).toEqual(["Error: the end", "Error: the end"]);
  expect(canceled).toEqual(["10.0.0.1"]);
  expect(vi.getTimerCount()).toBe(0);
  await expect(probed("10.0.0.1:80", { connect, signal: stop.signal })).rejects.toThrow("the end");
});

/** Nothing else happens in this process meanwhile. */
function standStill(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

test("a connection that succeeds while the process is suspended past the deadline counts as success", async () => {
  const attempt = probed(`127.0.0.1:${port}`, { timeoutMs: 50 });
  // Node connects in the next tick; from then on it is the kernel's.
  await Promise.resolve();
  process.nextTick(() => standStill(100));
  expect(await attempt).toMatchObject({ reachable: true });
});

test("a timeout while the process was mostly suspended is a source fault", async () => {
  const attempt = probed("10.0.0.1:80", { connect: connections({ "10.0.0.1": never() }).connect, timeoutMs: 300 });
  standStill(350);
  expect(summary(await attempt)).toEqual({
    actions: [],
    reachable: false,
    fault: "The checker was stalled (event loop blocked); result discarded",
  });
});

test("a wall clock step during an attempt does not change its duration", async () => {
  vi.useFakeTimers({ now: 1_000_000 });
  const ending = Promise.withResolvers<string | undefined>();
  const attempt = probed("10.0.0.1:80", { connect: connections({ "10.0.0.1": ending.promise }).connect });
  await vi.advanceTimersByTimeAsync(70);
  vi.setSystemTime(500);
  ending.resolve(undefined);
  const [action] = (await attempt).actions;
  expect(action).toMatchObject({ at: 1_000_000, latencyMs: 70 } satisfies Partial<Action>);
});
