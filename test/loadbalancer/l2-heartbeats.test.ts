import { createHmac, type KeyObject, randomBytes, sign } from "node:crypto";
import { expect, test, vi } from "vitest";
import { signHeartbeat, type Heartbeat } from "../../src/loadbalancer/speaker/l2/heartbeat.ts";
import { type L2Node, Segment, runInNamespace } from "../support/l2-segment.ts";

// What comes in at the heartbeat port of a real announcer, from machines of its segment.

const VIP = "192.0.2.100";
const SOAK_MINUTES = Number(process.env["PLUMBLINE_SOAK_MINUTES"] ?? 0);
const [SEED, COUNT] =
  SOAK_MINUTES > 0 ? [Number(process.env["PLUMBLINE_SOAK_SEED"] ?? Date.now() % 1_000_000), 300_000 * SOAK_MINUTES] : [17, 20_000];
const BATCH = 200;

const beat = (number: number, more: Partial<Record<keyof Heartbeat, unknown>> = {}) =>
  ({ node: "b", started: 1, number, sent: Date.now(), macs: ["02:00:00:00:00:03"], letGo: false, ...more }) as Heartbeat;

/** Signed and sealed, whatever is in it. */
function signed(body: string, key: KeyObject, shared = Buffer.alloc(32)): Buffer {
  const signature = sign(null, Buffer.from(`plumbline heartbeat 2\n${body}`), key).toString("base64");
  const bytes = Buffer.from(`${body.slice(0, -1)},"signature":"${signature}"}`);
  return Buffer.concat([createHmac("sha256", shared).update("plumbline heartbeat 1\n").update(bytes).digest(), bytes]);
}

const keyOf = (segment: Segment, name: string) => segment.keys.get(name)?.privateKey as KeyObject;
const counted = (node: L2Node, outcome: string) => node.message.heartbeats[outcome] ?? 0;
const total = (node: L2Node, ...outcomes: string[]) => outcomes.reduce((sum, outcome) => sum + counted(node, outcome), 0);

test.concurrent("signed but invalid datagrams neither end the agent nor block heartbeats of the node", async () => {
  await using segment = new Segment(["a", "b"]);
  const [a, b] = [segment.start("a"), segment.station("b")];
  const from = { from: b.ipv4, to: a.station.ipv4 };
  const key = keyOf(segment, "b");
  const sender = segment.sender(b);
  a.want({ address: VIP, candidates: ["a", "b"] });
  await a.is(VIP, "holding");

  const junk = [
    "not JSON",
    JSON.stringify(beat(1, { macs: null })),
    JSON.stringify(beat(1, { macs: Array.from({ length: 60 }, () => "02:00:00:00:00:03") })),
    JSON.stringify(beat(1, { node: { toString: 1 } })),
    JSON.stringify(beat(1, { sent: "now", number: [] })),
    JSON.stringify(beat(1, { unable: "*" })),
    `${"[".repeat(600)}]`,
    "",
  ];
  await sender.send(junk.map((body) => ({ ...from, bytes: signed(body, key) })));
  await a.until(() => counted(a, "malformed") === junk.length);
  // A time that is ahead of ours, and then the agent of b as it is.
  await sender.send([{ ...from, bytes: signed(JSON.stringify(beat(1, { started: 9, sent: Date.now() + 59_000 })), key) }]);
  await a.until(() => total(a, "heard", "returned") === 1);
  for (let number = 1; number <= 5; number++) {
    await sender.send([{ ...from, bytes: signHeartbeat(beat(number), key, undefined) }]);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
  await a.until(() => total(a, "heard", "returned") === 6);
  expect([counted(a, "stale"), a.message.alive["b"]]).toEqual([0, true]);
  // An unknown MAC.
  runInNamespace(b, "ip", "link", "set", "eth0", "address", "02:00:00:00:00:99");
  runInNamespace(b, "ip", "addr", "add", `${VIP}/32`, "dev", "eth0");
  runInNamespace(b, "ip", "link", "set", "eth0", "up");
  runInNamespace(b, "arping", "-U", "-c", "2", "-I", "eth0", VIP);
  await a.until(({ states }) => JSON.stringify(states).includes("02:00:00:00:00:99"));
  expect(a.isRunning).toBe(true);
});

test.concurrent("a heartbeat counts only from an address of its node, and a flood of datagrams is dropped before the agent", async () => {
  await using segment = new Segment(["a", "b", "c"]);
  const [a, b, c] = [segment.start("a"), segment.station("b"), segment.station("c")];
  const to = a.station.ipv4;
  const [client, other, real] = [segment.client, c, b].map((station) => segment.sender(station));
  a.want({ address: VIP, candidates: ["a", "b", "c"] });
  await a.is(VIP, "holding");
  const bytes = () => signHeartbeat(beat(1), keyOf(segment, "b"), undefined);
  await client?.send(Array.from({ length: 5_000 }, () => ({ from: segment.client.ipv4, to, bytes: bytes() })));
  await a.until(() => counted(a, "dropped") >= 5_000);
  await other?.send([{ from: c.ipv4, to, bytes: bytes() }]);
  await a.until(() => counted(a, "forged") === 1);
  expect(a.message.unheard).toEqual(["b", "c"]);
  await real?.send([{ from: b.ipv4, to, bytes: bytes() }]);
  await a.until(({ unheard }) => unheard.join() === "c");
  // More than an agent sends in a second: the receiving process drops the rest.
  await real?.send(Array.from({ length: 1_000 }, () => ({ from: b.ipv4, to, bytes: bytes() })));
  await a.until(() => counted(a, "dropped") >= 5_500);
  expect(total(a, "heard", "stale", "malformed", "forged")).toBeLessThan(500);
});

test.concurrent.each(["ipv4", "ipv6"] as const)(
  "over %s agents receive each other's heartbeats, with or without a published key",
  async (family) => {
    await using segment = new Segment(["a", "b", "c"]);
    const shared = randomBytes(32).toString("hex");
    // Only a has published, and c does not know of it yet.
    const published = Object.fromEntries(Object.entries(segment.published()).filter(([name]) => name === "a"));
    // Its Node names an address of b that the kernel would not choose.
    const second = { ipv4: "192.0.2.33", ipv6: "2001:db8::33" };
    const b = segment.station("b");
    runInNamespace(b, "ip", "addr", "add", `${second.ipv4}/24`, "dev", "eth0");
    runInNamespace(b, "ip", "addr", "add", `${second.ipv6}/64`, "dev", "eth0", "nodad", "preferred_lft", "0");
    const peers = {
      ...Object.fromEntries(segment.stations.map((station) => [station.name, [station[family]]])),
      b: ["b.example.com", second[family]],
    };
    const nodes = [
      segment.start("a", { peers, keys: published, shared }),
      segment.start("b", { peers, keys: published, shared }),
      segment.start("c", { peers, keys: {}, shared }),
    ];
    for (const node of nodes) node.want({ address: VIP, candidates: ["a", "b", "c"] });
    await Promise.all(nodes.map((node) => node.hearsAll()));
    for (const node of nodes) expect(total(node, "forged", "malformed", "dropped")).toBe(0);
  },
);

/** Random, and the same for the same seed. */
function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** Bytes at random; valid ones cut, prolonged and with flipped bits; and bodies with fields at random, truly signed. */
function fuzzed(random: (below: number) => number, valid: Buffer, key: KeyObject): Buffer {
  const noise = (length: number) => Buffer.from(Array.from({ length }, () => random(256)));
  const values = [
    null,
    true,
    -1,
    1e308,
    2 ** 53,
    "",
    "x".repeat(300),
    [],
    [[]],
    {},
    { length: 1e9 },
    ["*"],
    "__proto__",
    Date.now() + 1e12,
  ];
  const kind = random(10);
  if (kind < 2) return noise(random(1_400));
  if (kind < 6) {
    const flipped = Buffer.from(valid);
    for (let times = 1 + random(3); times > 0; times--) {
      const at = random(flipped.length);
      flipped[at] = (flipped[at] ?? 0) ^ (1 << random(8));
    }
    return flipped;
  }
  if (kind < 7) return valid.subarray(0, random(valid.length));
  if (kind < 8) return Buffer.concat([valid, noise(random(40))]);
  const fields = ["node", "started", "number", "sent", "macs", "letGo", "unable", "signature", "__proto__"] as const;
  const body: Record<string, unknown> = { ...beat(random(1e9)) };
  for (let times = 1 + random(3); times > 0; times--) body[fields[random(fields.length)] as string] = values[random(values.length)];
  return signed(JSON.stringify(body), key);
}

test("a socket survives arbitrary datagrams, and receives heartbeats afterwards", { timeout: 120_000 * (1 + SOAK_MINUTES) }, async () => {
  await using segment = new Segment(["a", "b"]);
  const b = segment.station("b");
  // So many that what one address may send in a second is no limit.
  const sources = Array.from({ length: 1_000 }, (_, at) => `198.18.${at >> 8}.${at & 255}`);
  runInNamespace(b, "sh", "-c", `for i in ${sources.join(" ")}; do echo addr add $i/32 dev eth0; done | ip -batch -`);
  const a = segment.start("a", { peers: { a: [segment.station("a").ipv4], b: sources }, memory: true });
  a.want({ address: VIP, candidates: ["a", "b"] });
  await a.is(VIP, "holding");
  await a.until(({ memoryMiB }) => memoryMiB > 0);
  const { stallMs: before, memoryMiB } = a.message;
  const random = generator(SEED);
  const sender = segment.sender(b);
  const key = keyOf(segment, "b");
  const to = a.station.ipv4;
  for (let sent = 0; sent < COUNT; sent += BATCH) {
    const valid = signHeartbeat(beat(1, { started: 2 + sent }), key, undefined);
    const next = Array.from({ length: BATCH }, () => ({
      from: sources[random(sources.length)] as string,
      to,
      bytes: fuzzed(random, valid, key),
    }));
    await sender.send(next);
  }
  const { heartbeats, stallMs, memoryMiB: after } = a.message;
  console.log(
    `seed ${SEED}: ${COUNT} datagrams, the agent was busy for ${stallMs} ms at most (${before} ms before), ${memoryMiB} to ${after} MiB;`,
    heartbeats,
  );
  expect(a.isRunning).toBe(true);
  expect(after).toBeLessThan(memoryMiB + 30);
  expect(total(a, "malformed", "forged")).toBeGreaterThan(COUNT / 10);
  const heard = counted(a, "heard") + counted(a, "returned");
  await vi.waitFor(
    async () => {
      await sender.send([{ from: sources[0] as string, to, bytes: signHeartbeat(beat(2e9, { started: Date.now() }), key, undefined) }]);
      await a.until(() => true);
      expect(counted(a, "heard") + counted(a, "returned")).toBeGreaterThan(heard);
    },
    { timeout: 60_000, interval: 500 },
  );
  expect(a.message.states[VIP]).toMatchObject({ is: "holding" });
});
