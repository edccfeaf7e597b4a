import { generateKeyPairSync } from "node:crypto";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { KernelError } from "../../../hostnet/error.ts";
import { parseAddress } from "../../../ip/address.ts";
import { createLog } from "../../../kube/log.ts";
import { L2Announcer } from "./announcer.ts";
import type { L2Backends } from "./backends.ts";
import { signHeartbeat } from "./heartbeat.ts";
import { observed } from "./interfaces.ts";
import type { AddressOnInterface } from "./address-ownership.ts";
import type { PacketSocketEvents } from "./packet-socket.ts";

const key = generateKeyPairSync("ed25519");
const vip = parseAddress("192.0.2.100");
const rival = "02:00:00:00:00:0b";
const eth0 = { ifindex: 2, ifname: "eth0", flags: ["UP", "LOWER_UP"], link_type: "ether", address: "02:00:00:00:00:0a", addr_info: [] };
const left = {
  family: "inet",
  local: "192.0.2.100",
  prefixlen: 32,
  metric: 26_740,
  scope: "host",
  dynamic: true,
  valid_life_time: 100,
  preferred_life_time: 0,
};

const device = { ...eth0, ifindex: 3, ifname: "plumbline-vip", address: "02:00:00:00:00:0c" };

/** A node without a kernel: what is done to it is written down. */
class FakeBackends implements L2Backends {
  readonly deeds: string[] = [];
  readonly sent: string[] = [];
  events: PacketSocketEvents | undefined;
  dump: object[] = [eth0];
  readonly answered = new Set<string>();
  /** Of the agent before. */
  rules: ReadonlySet<string> | undefined;
  broken: Error | undefined;
  blind: Error | undefined;
  fault: string | undefined;
  /** How long the kernel takes to add an address. */
  slowMs = 0;
  ring: () => void = () => {};

  readonly links: L2Backends["links"] = {
    read: () => (this.blind ? Promise.reject(this.blind) : Promise.resolve(observed(this.dump))),
    carryOut: ({ drop, refresh, add }) => {
      if (this.broken) return Promise.reject(this.broken);
      this.#write("drop", drop);
      this.#write("refresh", refresh);
      this.#write("add", add);
      return new Promise((resolve) => setTimeout(() => resolve(new Map()), add.length > 0 ? this.slowMs : 0));
    },
    takeOffNics: (addressesOnNics) => {
      this.#write("take off", addressesOnNics);
      return Promise.resolve();
    },
    outlast: (owned, leaving) => {
      this.#write("outlast", owned);
      this.#write("leave", leaving);
      return Promise.resolve();
    },
  };

  packetSocket(events: PacketSocketEvents): ReturnType<L2Backends["packetSocket"]> {
    this.events = events;
    const fault = () => this.fault;
    return {
      run: (signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve())),
      get fault() {
        return fault();
      },
      isUp: true,
      watch: () => {},
      probe: (address, nic) => this.#write("probe", [{ address, nic }]),
      check: () => {},
      leave: () => {},
      answer: (address, nic) => void this.answered.add(`${String(address)} ${nic.name}`),
      renew: () => {},
      mute: (address, nic) => void this.answered.delete(`${String(address)} ${nic.name}`),
      announce: (address, nic) => this.#write("announce", [{ address, nic }]),
      send: (address) => this.sent.push(address),
      listenTo: () => {},
      sync: () => Promise.resolve(true),
    };
  }

  selected(): Promise<ReadonlySet<string> | undefined> {
    return Promise.resolve(this.rules);
  }

  nft(): Promise<void> {
    return Promise.resolve();
  }

  async watch(ring: () => void, signal: AbortSignal): Promise<void> {
    this.ring = ring;
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  }

  /** And what follows begins with an empty page. */
  read(): string[] {
    return this.deeds.splice(0);
  }

  #write(deed: string, addressesOnNics: readonly AddressOnInterface[]): void {
    for (const { address, nic } of addressesOnNics) this.deeds.push(`${deed} ${String(address)} ${nic.name}`);
  }
}

let backends: FakeBackends;
let announcer: L2Announcer;
let stop: AbortController;
let running: Promise<void>;
let changes: number;

function start(): void {
  announcer = new L2Announcer(
    {
      node: "a",
      peers: () =>
        new Map([
          ["a", ["192.0.2.1"]],
          ["b", ["192.0.2.2"]],
        ]),
      keys: { own: key.privateKey, of: () => key.publicKey, shared: () => undefined },
      onChange: () => (changes += 1),
      log: createLog({ level: "silent" }),
    },
    backends,
  );
  running = announcer.run(stop.signal);
}

beforeEach(() => {
  vi.useFakeTimers();
  backends = new FakeBackends();
  stop = new AbortController();
  changes = 0;
});

afterEach(async () => {
  stop.abort();
  await running;
  vi.useRealTimers();
});

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const want = (...candidates: string[]) => announcer.set([{ address: vip, service: "shop/web", candidates }]);
const all = (deed: string) => `${deed} 192.0.2.100 eth0`;

test("an address is probed, added, announced three times, and then refreshed every five seconds", async () => {
  start();
  want("a", "b");
  await pass(4_000);
  expect(backends.read()).toEqual([
    all("probe"),
    all("probe"),
    all("probe"),
    all("add"),
    all("announce"),
    all("announce"),
    all("announce"),
  ]);
  expect(announcer.state(vip)).toMatchObject({ is: "holding", interfaces: ["eth0"] });
  await pass(20_000);
  expect(backends.read()).toEqual(Array.from({ length: 4 }, () => all("refresh")));
});

test("a slow kernel has time to add an address, and none is added twice", async () => {
  backends.slowMs = 3_000;
  start();
  want("a", "b");
  await pass(10_000);
  expect(backends.read().filter((deed) => deed === all("add") || deed === all("drop"))).toEqual([all("add")]);
  expect(announcer.state(vip).is).toBe("holding");
});

test("no callback runs while nothing changes", async () => {
  start();
  want("a");
  await pass(10_000);
  changes = 0;
  await pass(120_000);
  expect(changes).toBe(0);
});

test("after a suspend that is longer than the address lifetime the address is released, and probed before it is added again", async () => {
  start();
  want("a", "b");
  await pass(5_000);
  backends.read();
  // The monotonic clock and with it all timers stand still.
  vi.setSystemTime(Date.now() + 60_000);
  await pass(10_000);
  expect(backends.read().slice(0, 5)).toEqual([all("drop"), all("probe"), all("probe"), all("probe"), all("add")]);
});

test("a clock that is set back, or slightly forward, releases no address", async () => {
  start();
  want("a", "b");
  await pass(5_000);
  for (const ms of [-3_600_000, 1_500, 10_000]) {
    vi.setSystemTime(Date.now() + ms);
    await pass(10_000);
  }
  expect(backends.read()).not.toContain(all("drop"));
  expect(announcer.state(vip).is).toBe("holding");
});

test("when another candidate is elected, the address is released and the callback runs", async () => {
  start();
  want("a", "b");
  await pass(5_000);
  backends.read();
  changes = 0;
  want("b", "a");
  await pass(100);
  expect(backends.read()).toEqual([all("drop")]);
  expect(announcer.state(vip)).toEqual({ is: "standby" });
  expect(changes).toBeGreaterThan(0);
});

test("a failed kernel command is retried, and expired addresses are probed first", async () => {
  start();
  want("a");
  await pass(5_000);
  backends.read();
  backends.broken = new KernelError("Timeout", "ip has not answered within 10000 ms", { command: "ip", namespace: "" });
  await pass(10_000);
  backends.broken = undefined;
  await pass(3_000);
  expect(backends.read()).toEqual([all("refresh")]);
  backends.broken = new KernelError("Timeout", "ip has not answered within 10000 ms", { command: "ip", namespace: "" });
  await pass(40_000);
  backends.read();
  backends.broken = undefined;
  await pass(5_000);
  const [first, then] = backends.read().filter((deed) => deed === all("drop") || deed === all("add"));
  expect([first, then]).toEqual([all("drop"), all("add")]);
});

test("an address that another MAC answers for is in use, with that MAC", async () => {
  start();
  want("a");
  await pass(500);
  backends.events?.onMessage({ what: "claim", address: vip, mac: rival }, "eth0");
  expect(announcer.state(vip)).toEqual({ is: "in-use", mac: rival, interface: "eth0" });
  // Another own interface on the segment is no conflict.
  await pass(3_000);
  expect(announcer.state(vip).is).toBe("holding");
  backends.events?.onMessage({ what: "claim", address: vip, mac: eth0.address }, "eth0");
  expect(announcer.state(vip).is).toBe("holding");
});

test("an agent finds the addresses of its predecessor, and keeps them before the wanted ones are known", async () => {
  backends.dump = [eth0, { ...device, addr_info: [left] }];
  start();
  await pass(500);
  expect(backends.read()).toEqual(["refresh 192.0.2.100 plumbline-vip"]);
  want("a", "b");
  await pass(2_000);
  expect(backends.read().filter((deed) => deed !== "drop 192.0.2.100 plumbline-vip")).toEqual([]);
  expect(announcer.state(vip)).toMatchObject({ is: "holding", interfaces: ["eth0"] });
});

test("an interface that was selected while no agent ran is probed before it answers", async () => {
  backends.dump = [eth0, { ...eth0, ifindex: 4, ifname: "eth1" }, { ...device, addr_info: [left] }];
  backends.rules = new Set(["192.0.2.100 eth0"]);
  start();
  await pass(500);
  backends.read();
  want("a", "b");
  await pass(500);
  expect(new Set(backends.read().filter((deed) => deed.startsWith("probe")))).toEqual(new Set(["probe 192.0.2.100 eth1"]));
  expect(announcer.state(vip)).toMatchObject({ is: "holding", interfaces: ["eth0"] });
});

test("an address of an earlier version is answered for before it is removed from its interface", async () => {
  backends.dump = [{ ...eth0, addr_info: [left] }];
  start();
  await pass(500);
  expect(backends.read()).toEqual([all("refresh"), all("take off")]);
  expect([...backends.answered]).toEqual(["192.0.2.100 eth0"]);
});

test("addresses without kernel answers are probed again after frames were not answered for a while", async () => {
  const vip6 = parseAddress("2001:db8::100");
  backends.dump = [
    {
      ...eth0,
      addr_info: [{ family: "inet6", local: "fe80::1", prefixlen: 64, scope: "link", valid_life_time: 9, preferred_life_time: 9 }],
    },
  ];
  start();
  announcer.set([vip, vip6].map((address) => ({ address, service: "shop/web", candidates: ["a"] })));
  await pass(5_000);
  expect([...backends.answered]).toEqual(["192.0.2.100 eth0", "2001:db8::100 eth0"]);
  backends.read();
  backends.events?.onLapse();
  await pass(2_000);
  expect(backends.read().filter((deed) => !deed.startsWith("announce"))).toEqual(
    ["drop 2001:db8::100", "refresh 192.0.2.100", ...Array.from({ length: 3 }, () => "probe 2001:db8::100"), "add 2001:db8::100"].map(
      (deed) => `${deed} eth0`,
    ),
  );
});

test("an agent that stops extends the lifetime of its addresses for a restart, and sends no more heartbeats", async () => {
  start();
  want("a", "b");
  await pass(5_000);
  backends.read();
  stop.abort();
  await running;
  expect(backends.read()).toEqual([all("outlast")]);
  backends.sent.length = 0;
  await pass(10_000);
  expect(backends.sent).toEqual([]);
});

test("the address of a removed interface is lost, and probed when the interface is back", async () => {
  start();
  want("a");
  await pass(5_000);
  backends.read();
  backends.dump = [{ ...eth0, flags: ["UP", "NO-CARRIER"] }];
  backends.ring();
  await pass(500);
  expect(backends.read()).toEqual([all("drop")]);
  expect(announcer.state(vip)).toEqual({ is: "failed", message: "no usable interface: it must be up, support ARP and have no master" });
  backends.dump = [eth0];
  backends.ring();
  await pass(2_000);
  expect(backends.read().slice(0, 4)).toEqual([all("probe"), all("probe"), all("probe"), all("add")]);
});

test("a node without an interface for the address leaves it to a candidate that has one", async () => {
  start();
  want("a", "b");
  await pass(4_000);
  const heartbeat = { node: "b", started: 1, number: 1, sent: Date.now(), macs: [], letGo: false };
  backends.events?.onDatagram(signHeartbeat(heartbeat, key.privateKey, undefined), "192.0.2.2");
  await pass(1_000);
  backends.read();
  backends.sent.length = 0;
  backends.dump = [{ ...eth0, flags: ["UP", "NO-CARRIER"] }];
  backends.ring();
  await pass(500);
  expect(backends.read()).toEqual([all("drop")]);
  expect(announcer.state(vip)).toEqual({ is: "standby" });
  expect(announcer.candidates.eligible(["a", "b"], [vip])).toEqual(["b"]);
  expect(announcer.lostLinks()).toEqual(["eth0"]);
  expect(backends.sent).toContain("192.0.2.2");
});

test("while frames can be neither sent nor received, the state says why and the callback runs", async () => {
  start();
  want("a");
  await pass(200);
  changes = 0;
  backends.fault = "spawn setpriv ENOENT";
  backends.events?.onEnd();
  await pass(100);
  expect(announcer.state(vip)).toEqual({ is: "failed", message: "cannot probe for duplicates: spawn setpriv ENOENT" });
  expect(changes).toBe(1);
});

test("addresses are refreshed while the links cannot be read", async () => {
  start();
  want("a");
  await pass(5_000);
  backends.read();
  backends.blind = new KernelError("Timeout", "links change faster than they can be read", { command: "ip -j addr", namespace: "" });
  backends.ring();
  await pass(60_000);
  expect(new Set(backends.read())).toEqual(new Set([all("refresh")]));
  expect(announcer.state(vip).is).toBe("holding");
});

test("an address that is removed from its link is restored at once", async () => {
  start();
  want("a");
  backends.dump = [eth0, { ...device, addr_info: [left] }];
  await pass(7_000);
  backends.read();
  backends.ring();
  await pass(500);
  expect(backends.read()).toEqual([]);
  backends.dump = [eth0];
  backends.ring();
  await pass(500);
  expect(backends.read()).toEqual([all("refresh")]);
});
