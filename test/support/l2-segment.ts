import { execFileSync, spawn, type ChildProcessByStdio } from "node:child_process";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";
import { EventEmitter, once } from "node:events";
import { fileURLToPath } from "node:url";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { vi } from "vitest";
import { DEVICE } from "../../src/loadbalancer/speaker/l2/ip-address-commands.ts";
import type { NodeSettings, NodeRequest, NodeMessage } from "../loadbalancer/fixtures/l2-node.ts";
import { createNamespaces, ip, type TestNamespaces } from "./namespaces.ts";

const NODE_PROGRAM = fileURLToPath(new URL("../loadbalancer/fixtures/l2-node.ts", import.meta.url));
const PYTHON = "/usr/bin/python3";
const script = (name: string) => fileURLToPath(new URL(`../loadbalancer/fixtures/${name}.py`, import.meta.url));
/** Of each line that a node says. */
const END = " .";
/** Nothing here is about time, and a busy machine takes its own. */
const patience = { timeout: 240_000, interval: 50 };

type Process = ChildProcessByStdio<Writable, Readable, null>;

/** A machine on the segment: its namespace, and `eth0` with a MAC and addresses that tell its number. */
export interface Station {
  readonly name: string;
  readonly netns: string;
  readonly mac: string;
  readonly ipv4: string;
  readonly ipv6: string;
}

/** Nodes `a`, `b`, `c`... and a client on one bridge. */
export class Segment implements AsyncDisposable {
  readonly bridge: string;
  readonly client: Station;
  readonly stations: readonly Station[];
  readonly keys: ReadonlyMap<string, { privateKey: KeyObject; publicKey: KeyObject }>;
  readonly #namespaces: TestNamespaces;
  readonly #processes: Process[] = [];

  constructor(nodes: readonly string[]) {
    this.#namespaces = createNamespaces(nodes.length + 2);
    this.keys = new Map(nodes.map((name) => [name, generateKeyPairSync("ed25519")]));
    const [bridge = "", ...rest] = this.#namespaces.names;
    this.bridge = bridge;
    ip(bridge, "link add br0 type bridge", "link set br0 up");
    const stations = ["client", ...nodes].map((name, number) => this.#connect(name, number + 1, rest[number] ?? ""));
    [this.client, ...this.stations] = stations as [Station, ...Station[]];
  }

  station(name: string): Station {
    const found = this.stations.find((one) => one.name === name);
    if (!found) throw new Error(`there is no node ${name}`);
    return found;
  }

  /** Another interface of a node on the same bridge; gives its MAC. */
  addLink(station: Station, device: string): string {
    const port = `to-${station.name}-${device}`;
    ip(this.bridge, `link add ${port} type veth peer name ${device} netns ${station.netns}`, `link set ${port} master br0 up`);
    const mac = `02:00:00:00:${station.mac.slice(-2)}:f${device.at(-1) ?? ""}`;
    ip(station.netns, `link set ${device} address ${mac}`, `link set ${device} up`);
    return mac;
  }

  /** Whether anything is plugged in at the other end. */
  carrier(station: Station, device: string, isThere: boolean): void {
    ip(this.bridge, `link set to-${station.name}-${device} ${isThere ? "up" : "down"}`);
  }

  start(name: string, more: Partial<NodeSettings> = {}): L2Node {
    const station = this.station(name);
    const peers = Object.fromEntries(this.stations.map((one) => [one.name, [one.ipv4]]));
    const settings: NodeSettings = { node: name, signingKey: this.#signingKey(name), keys: this.published(), peers, ...more };
    const entry = settings.netns === undefined ? ["ip", "netns", "exec", station.netns] : [];
    return new L2Node(station, this.#spawn([...entry, process.execPath, NODE_PROGRAM, JSON.stringify(settings)]));
  }

  /** From the client's place. Who answers later than a round lasts counts as silent in that round. */
  watch(address: string, roundSeconds = 0.05): Answers {
    const { netns, ipv4, ipv6 } = this.client;
    const own = address.includes(":") ? ipv6 : ipv4;
    return new Answers(
      this.#spawn(["ip", "netns", "exec", netns, PYTHON, script("who-answers"), "eth0", address, own, String(roundSeconds)]),
    );
  }

  /** The agent and its machine are gone at once. */
  async crash(node: L2Node): Promise<void> {
    ip(this.bridge, `link set to-${node.station.name} nomaster`);
    await node.kill();
  }

  /** Whether these nodes receive each other's frames; all others always do. */
  isolate(apart: boolean, ...names: readonly string[]): void {
    ip(this.bridge, ...names.map((name) => `link set dev to-${name} type bridge_slave isolated ${apart ? "on" : "off"}`));
  }

  /** Something like sshd, on a port of all addresses of a machine. */
  async listen({ netns }: Station, port: number): Promise<void> {
    const child = this.#spawn(["ip", "netns", "exec", netns, PYTHON, script("listen"), String(port)]);
    await once(child.stdout, "data");
  }

  /** From the client. */
  connectAlways(address: string, port: number): Attempts {
    return new Attempts(this.#spawn(["ip", "netns", "exec", this.client.netns, PYTHON, script("connect"), address, String(port)]));
  }

  /** A program of the test's own in a station's namespace. */
  run({ netns }: Station, ...command: readonly string[]): Readable {
    return this.#spawn(["ip", "netns", "exec", netns, ...command]).stdout;
  }

  /** Sends datagrams from a machine, each with its source, destination and bytes. */
  sender({ netns }: Station): Sender {
    return new Sender(this.#spawn(["ip", "netns", "exec", netns, PYTHON, script("send-datagrams"), "7947"]));
  }

  /** Once, from the client. */
  async reaches(address: string, port: number): Promise<boolean> {
    const connect = `import socket; socket.create_connection(("${address}", ${port}), timeout=2).close()`;
    const child = this.#spawn(["ip", "netns", "exec", this.client.netns, PYTHON, "-c", connect]);
    const [code] = (await once(child, "exit")) as [number];
    return code === 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#processes.map(kill));
    await this.#namespaces.remove();
  }

  #signingKey(name: string): string {
    return this.keys.get(name)?.privateKey.export({ type: "pkcs8", format: "pem" }) as string;
  }

  published(): Record<string, string> {
    return Object.fromEntries(
      [...this.keys].map(([name, { publicKey }]) => [
        name,
        Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url").toString("base64"),
      ]),
    );
  }

  #connect(name: string, number: number, netns: string): Station {
    const station = { name, netns, mac: `02:00:00:00:00:0${number}`, ipv4: `192.0.2.${number}`, ipv6: `2001:db8::${number}` };
    ip(this.bridge, `link add to-${name} type veth peer name eth0 netns ${netns}`, `link set to-${name} master br0 up`);
    ip(
      netns,
      `link set eth0 address ${station.mac}`,
      "link set eth0 up",
      `addr add ${station.ipv4}/24 dev eth0`,
      `addr add ${station.ipv6}/64 dev eth0 nodad`,
      "route add default via 192.0.2.254",
    );
    return station;
  }

  #spawn(command: readonly string[]): Process {
    const child = spawn("setpriv", ["--pdeathsig", "KILL", "--", ...command], {
      stdio: ["pipe", "pipe", process.env["L2_LOG"] ? "inherit" : "ignore"],
    });
    this.#processes.push(child);
    return child;
  }
}

export class L2Node {
  readonly station: Station;
  readonly #process: Process;
  readonly #messages = new EventEmitter<{ message: [] }>();
  #message: NodeMessage | undefined;

  constructor(station: Station, child: Process) {
    this.station = station;
    this.#process = child;
    // The last word of one that is killed may be cut off.
    createInterface(child.stdout).on("line", (line) => {
      if (!line.endsWith(END)) return;
      this.#message = JSON.parse(line.slice(0, -END.length)) as NodeMessage;
      this.#messages.emit("message");
    });
  }

  get message(): NodeMessage {
    return (
      this.#message ?? {
        states: {},
        alive: {},
        unheard: [],
        pulses: [],
        protection: { is: "on" },
        heartbeats: {},
        stallMs: 0,
        memoryMiB: 0,
      }
    );
  }

  get isRunning(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }

  /** It runs, and takes wishes. */
  async ready(): Promise<void> {
    await vi.waitUntil(() => this.#message !== undefined, patience);
  }

  want(...wanted: NodeRequest["wanted"]): void {
    this.#process.stdin.write(`${JSON.stringify({ wanted })}\n`);
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  /** To its packet socket process. */
  signalWire(signal: NodeJS.Signals): void {
    const children = readFileSync(`/proc/${this.#process.pid}/task/${this.#process.pid}/children`, "utf8").trim().split(" ");
    for (const pid of children) if (readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("NEIGHBORS")) process.kill(Number(pid), signal);
  }

  async kill(): Promise<void> {
    await kill(this.#process);
  }

  /** As a rolling update stops it. */
  async stop(): Promise<void> {
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGTERM");
    await ended;
  }

  async is(address: string, state: NodeMessage["states"][string]["is"]): Promise<NodeMessage["states"][string]> {
    const find = ({ states }: NodeMessage) => (states[address]?.is === state ? states[address] : undefined);
    return this.#first(find, ({ states }) => `${JSON.stringify(states[address])} for ${address}, not ${state}`);
  }

  /** The nodes it shares addresses with. */
  async hearsAll(): Promise<void> {
    await this.until(({ states, unheard }) => Object.keys(states).length > 0 && unheard.length === 0);
  }

  async until(holds: (message: NodeMessage) => boolean): Promise<void> {
    await this.#first((message) => holds(message) || undefined, JSON.stringify);
  }

  /** Looks at every message: a state may last for less time than a busy machine takes to look again. */
  #first<T>(find: (message: NodeMessage) => T | undefined, describe: (message: NodeMessage) => string): Promise<T> {
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(late);
        this.#messages.off("message", check);
      };
      const check = () => {
        const found = find(this.message);
        if (found === undefined) return;
        end();
        resolve(found);
      };
      const late = setTimeout(() => {
        end();
        reject(new Error(`${this.station.name} is ${describe(this.message).slice(0, 500)}`));
      }, patience.timeout);
      this.#messages.on("message", check);
      check();
    });
  }
}

/** Who has answered, in order: each a list of the MACs that answered one question. */
export class Answers {
  readonly rounds: string[][] = [];

  constructor(child: Process) {
    createInterface(child.stdout).on("line", (line) => this.rounds.push(JSON.parse(line) as string[]));
  }

  /** Since when two or more answered at once. */
  get doubles(): string[][] {
    return this.rounds.filter(({ length }) => length > 1);
  }

  /** One after the other, silence left out. */
  get owners(): string[] {
    const macs = this.rounds.flat();
    return macs.filter((mac, at) => mac !== macs[at - 1]);
  }

  get now(): string[] {
    return this.rounds.at(-1) ?? [];
  }

  async from(mac: string): Promise<void> {
    await vi.waitUntil(() => this.now.length === 1 && this.now[0] === mac, patience);
  }

  async silence(): Promise<void> {
    await vi.waitUntil(() => this.rounds.length > 0 && this.now.length === 0, patience);
  }
}

export class Attempts {
  made = 0;
  failed = 0;

  constructor(child: Process) {
    createInterface(child.stdout).on("line", (line) => {
      if (line === "made") this.made += 1;
      else this.failed += 1;
    });
  }

  async until(made: number): Promise<void> {
    await vi.waitUntil(() => this.made >= made, patience);
  }
}

export class Sender {
  readonly #process: Process;
  sent = 0;

  constructor(child: Process) {
    this.#process = child;
    createInterface(child.stdout).on("line", (line) => (this.sent = Number(line)));
  }

  /** Gives when all of them have left. */
  async send(datagrams: readonly { from: string; to: string; bytes: Buffer }[]): Promise<void> {
    const all = this.sent + datagrams.length;
    this.#process.stdin.write(datagrams.map(({ from, to, bytes }) => `${from} ${to} ${bytes.toString("hex")}\n`).join(""));
    await vi.waitUntil(() => this.sent >= all, { ...patience, interval: 5 });
  }
}

async function kill(child: Process): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  child.kill("SIGCONT");
  await ended;
}

/** What a command prints in a station's namespace; what it says when it fails is the error. */
export function runInNamespace({ netns }: Station, ...command: string[]): string {
  return execFileSync("ip", ["netns", "exec", netns, ...command], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

export interface LinkAddress {
  readonly local: string;
  readonly valid_life_time: number;
}

/** What is on a link: that of service addresses, if no other is named. */
export function addressesOf(station: Station, device = DEVICE): LinkAddress[] {
  const links = JSON.parse(runInNamespace(station, "ip", "-j", "addr")) as { ifname: string; addr_info: LinkAddress[] }[];
  return links.find(({ ifname }) => ifname === device)?.addr_info ?? [];
}

export function addressOf(station: Station, address: string, device = DEVICE): LinkAddress | undefined {
  return addressesOf(station, device).find(({ local }) => local === address);
}

/** Heartbeats reach it no more; everything else does. */
export function deafen(station: Station): void {
  const rules = "table inet deaf { chain input { type filter hook input priority -10; udp dport 7947 drop; }; }";
  execFileSync("ip", ["netns", "exec", station.netns, "nft", "-f", "-"], { input: rules });
}
