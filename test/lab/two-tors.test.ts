import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CommandResult, plumbline } from "../support/command-line.ts";

/** For `expect.poll`: long, because a busy machine is slow. */
const EVENTUALLY = { timeout: 240_000, interval: 500 };
const NODES = ["node1", "node2"];
/** Of pings. */
const SMALL = 56;
const LARGE = 1_300;
const TOR_ADDRESSES = ["192.168.11.2", "192.168.12.2"];

let runtime: string;

beforeAll(async () => {
  runtime = await mkdtemp(join(tmpdir(), "plumbline-two-tors-test-"));
  await lab("up", "--tors", "2", "--nodes", "2", "--page-address", "off");
}, 600_000);
afterAll(async () => {
  await lab("down");
  await rm(runtime, { recursive: true });
});

const lab = (...args: string[]) => plumbline(["lab", ...args], { XDG_RUNTIME_DIR: runtime });
const exec = (host: string, ...command: string[]) => lab("exec", host, "--", ...command);

/** Of the sessions with the ToRs, by node: `node1 192.168.11.2 Established`. */
async function torSessions(): Promise<string[]> {
  const { items } = JSON.parse((await lab("status", "-o", "json")).stdout) as {
    items: { node: string; conditions: string; sessions: string }[];
  };
  return items.flatMap(({ node, conditions, sessions }) =>
    sessions
      .split(", ")
      .filter((session) => TOR_ADDRESSES.some((address) => session.startsWith(`${address} `)))
      .map((session) => `${node} ${conditions.split(" ")[0]} ${session}`),
  );
}

const ready = (addresses: readonly string[]) =>
  NODES.flatMap((node) => addresses.map((address) => `${node} Ready=True ${address} Established`));
const established = async () => (await torSessions()).filter((session) => session.endsWith(" Established"));

/** Whether a ping from node1 to node2 on the segment `shop` is answered, whatever path MTU was learned before. */
async function shopPasses(bytes: number): Promise<boolean> {
  const script = `ip route flush cache; exec ping -c1 -W1 -M do -s ${bytes} 10.110.0.12`;
  return (await exec("node1", "ip", "netns", "exec", "shop", "sh", "-c", script)).code === 0;
}

/** What is set on a link, at each end. */
async function statesOf(name: string): Promise<object[]> {
  const { items } = JSON.parse((await lab("link", name, "-o", "json")).stdout) as { items: { ends: { state: object }[] }[] };
  return items.flatMap(({ ends }) => ends.map(({ state }) => state));
}

/** The answers to pings from one client to the other on their segment, in the order in which they arrive. */
async function answersTo(pings: number): Promise<{ sequence: number; ms: number }[]> {
  const { stdout } = await exec("client2", "ping", "-c", String(pings), "-i", "0.02", "-W", "2", "10.30.0.2");
  return [...stdout.matchAll(/icmp_seq=(\d+) .*time=([\d.]+) ms/g)].map(([, sequence, ms]) => ({
    sequence: Number(sequence),
    ms: Number(ms),
  }));
}

/** Who answers for the address of the service `wiki`. */
async function wikiMac(client: string): Promise<string | undefined> {
  const { stdout } = await exec(client, "arping", "-f", "-w", "5", "-I", "lan0", "10.30.0.100");
  return /\[([0-9A-F:]+)\]/.exec(stdout)?.[1];
}

/** Whether eight new connections of the client to the service `web` are all answered: they spread over the ToRs that it can reach. */
async function webAnswers(): Promise<boolean> {
  const script = "for attempt in 1 2 3 4 5 6 7 8; do curl -sf -m 2 http://10.200.0.1 || exit 1; done";
  return (await exec("client", "sh", "-c", script)).code === 0;
}

const ports = (state: "up" | "down") =>
  exec("tor", "sh", "-ec", `for port in ${NODES.join(" ")} client; do ip link set "$port" ${state}; done`);

test("every node has a session with both ToRs, and traffic passes between nodes and from the client", async () => {
  await expect.poll(torSessions, EVENTUALLY).toEqual(ready(TOR_ADDRESSES));
  await expect.poll(() => shopPasses(SMALL), EVENTUALLY).toBe(true);
  await expect.poll(webAnswers, EVENTUALLY).toBe(true);
});

test("traffic passes over the other ToR when one is cut off, and over both again when it is back", async () => {
  expect(await ports("down")).toMatchObject({ code: 0 });
  expect((await lab("topology")).stdout).toMatch(/client-tor .* down$/m);
  await expect.poll(established, EVENTUALLY).toEqual(ready(["192.168.12.2"]));
  await expect.poll(() => shopPasses(SMALL), EVENTUALLY).toBe(true);
  await expect.poll(webAnswers, EVENTUALLY).toBe(true);
  expect(await ports("up")).toMatchObject({ code: 0 });
  await expect.poll(torSessions, EVENTUALLY).toEqual(ready(TOR_ADDRESSES));
  await expect.poll(webAnswers, EVENTUALLY).toBe(true);
});

test("a link that loses every packet loses its session, and has it again when it is cleared", async () => {
  expect(await lab("link", "node1-tor", "--loss", "100%")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/loss 100%$/m) as string,
  });
  expect((await lab("topology")).stdout).toMatch(/node1-tor .* loss 100%$/m);
  const lost = "node1 Ready=True 192.168.11.2 Established";
  await expect.poll(established, EVENTUALLY).toEqual(ready(TOR_ADDRESSES).filter((session) => session !== lost));
  await expect.poll(() => shopPasses(SMALL), EVENTUALLY).toBe(true);
  expect(await lab("link", "node1-tor", "--clear")).toMatchObject({ code: 0, stdout: expect.stringMatching(/good$/m) as string });
  await expect.poll(torSessions, EVENTUALLY).toEqual(ready(TOR_ADDRESSES));
});

test("a small MTU drops large packets only", async () => {
  await expect.poll(() => shopPasses(LARGE), EVENTUALLY).toBe(true);
  for (const name of ["node1-tor", "node1-tor2"]) expect(await lab("link", name, "--mtu", "1280")).toMatchObject({ code: 0 });
  expect(await shopPasses(LARGE)).toBe(false);
  await expect.poll(() => shopPasses(SMALL), EVENTUALLY).toBe(true);
  for (const name of ["node1-tor", "node1-tor2"]) expect(await lab("link", name, "--clear")).toMatchObject({ code: 0 });
  await expect.poll(() => shopPasses(LARGE), EVENTUALLY).toBe(true);
});

test("the delay of a link counts in each direction", async () => {
  await expect.poll(() => answersTo(1), EVENTUALLY).toHaveLength(1);
  expect(await lab("link", "client2-lan", "--delay", "100ms")).toMatchObject({ code: 0 });
  const answers = await answersTo(8);
  expect(answers).toHaveLength(8);
  expect(answers.filter(({ ms }) => ms < 200)).toEqual([]);
});

// By chance all or none of them would be lost once in a hundred million runs, and none would be overtaken as rarely.
test("a link with partial loss drops some packets and not others", async () => {
  expect(await lab("link", "client2-lan", "--loss", "50%")).toMatchObject({ code: 0 });
  const answers = await answersTo(64);
  expect(answers.length).toBeGreaterThan(0);
  expect(answers.length).toBeLessThan(64);
});

test("a link that reorders lets later packets overtake earlier ones and loses none", async () => {
  expect(await lab("link", "client2-lan", "--delay", "300ms", "--reorder", "50%")).toMatchObject({ code: 0 });
  const sequence = (await answersTo(64)).map((answer) => answer.sequence);
  expect(sequence.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 64 }, (_, n) => n + 1));
  expect(sequence).not.toEqual(sequence.toSorted((a, b) => a - b));
  expect(await lab("link", "client2-lan", "--clear")).toMatchObject({ code: 0 });
});

test("what is set on a link replaces what was, at both ends", async () => {
  await lab("link", "node2-mgmt", "--delay", "4ms", "--jitter", "1ms", "--reorder", "10%", "--loss", "0.5%");
  const netem = { delayMs: 4, jitterMs: 1, reorderPercent: 10, lossPercent: 0.5 };
  expect(await statesOf("node2-mgmt")).toEqual([netem, netem]);
  await lab("link", "node2-mgmt", "--mtu", "1400");
  expect(await statesOf("node2-mgmt")).toEqual([{ mtu: 1400 }, { mtu: 1400 }]);
  await lab("link", "node2-mgmt", "--clear");
  expect(await statesOf("node2-mgmt")).toEqual([{}, {}]);
});

test("both clients on the segment reach a service there, at the MAC address of the same node", async () => {
  for (const client of ["client", "client2"]) {
    await expect.poll(async () => (await exec(client, "curl", "-sf", "-m", "2", "http://10.30.0.100")).code, EVENTUALLY).toBe(0);
  }
  const mac = await wikiMac("client");
  expect(mac).toBeDefined();
  expect(await wikiMac("client2")).toBe(mac);
});

test("the drawing of the running lab has all of its links", async () => {
  const { stdout } = await lab("topology");
  for (const name of [...NODES, "client"].flatMap((host) => [`${host}-tor`, `${host}-tor2`, `${host}-lan`]))
    expect(stdout).toContain(` ${name} `);
  const running = JSON.parse((await lab("topology", "-o", "json")).stdout) as unknown;
  expect(running).toEqual(JSON.parse((await lab("topology", "--tors", "2", "--nodes", "2", "-o", "json")).stdout));
});

test("a lab that runs does not become another", async () => {
  expect(await lab("up", "--tors", "2")).toMatchObject({ code: 0 });
  expect(await lab("up", "--tors", "1")).toMatchObject({
    code: 1,
    stderr: "plumbline: A lab with 2 nodes and 2 ToRs is already running: run plumbline lab down first\n",
  });
});

test.each<[string[], string]>([
  [["up", "--nodes", "0"], "option '--nodes <count>' argument '0' is invalid. Must be a number from 1 to 9."],
  [["up", "--nodes", "10"], "option '--nodes <count>' argument '10' is invalid. Must be a number from 1 to 9."],
  [["up", "--tors", "3"], "option '--tors <count>' argument '3' is invalid. Must be 1 or 2."],
  [["up", "--sites", "2", "--tors", "2"], "option '--sites <count>' cannot be used with option '--tors <count>'"],
  [
    ["link", "node1-tor", "--loss", "101%"],
    "option '--loss <percent>' argument '101%' is invalid. Must be a percentage from 0% to 100%, such as 5%.",
  ],
  [
    ["link", "node1-tor", "--delay", "20"],
    "option '--delay <time>' argument '20' is invalid. Must be a duration from 0ms to 10s, such as 20ms.",
  ],
  [["link", "node1-tor", "--mtu", "100"], "option '--mtu <bytes>' argument '100' is invalid. Must be a number of bytes from 576 to 9000."],
  [["link", "node1-tor", "--jitter", "5ms"], "--jitter requires --delay"],
  [["link", "node1-tor", "--reorder", "5%"], "--reorder requires --delay"],
  [["link", "node1-tor", "--clear", "--mtu", "1280"], "option '--clear' cannot be used with option '--mtu <bytes>'"],
  [["link", "--clear"], "No link given: list them with plumbline lab link"],
  [["link", "node9-tor", "--clear"], "The lab has no link node9-tor, only node1-mgmt, "],
  [["break", "link-down", "--node", "node5"], "The lab has no node5, only node1, node2"],
])("%j is rejected with one sentence", async (args, sentence) => {
  const { code, stdout, stderr }: CommandResult = await lab(...args);
  expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: "", stderr: expect.stringContaining(sentence) as string });
});

test("down leaves nothing", async () => {
  expect(await lab("down")).toMatchObject({ code: 0, stdout: expect.stringMatching(/^The lab is stopped \(pid \d+\)\.\n$/) as string });
  expect(await readdir(runtime)).toEqual([]);
});
