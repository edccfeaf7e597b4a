import { execFileSync, spawn, type ChildProcessByStdio } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { vi } from "vitest";
import type { NodeSettings, NodeWish, NodeWord } from "../loadbalancer/fixtures/l2-node.ts";
import { createNamespaces, ip, type TestNamespaces } from "./namespaces.ts";

const NODE_PROGRAM = fileURLToPath(new URL("../loadbalancer/fixtures/l2-node.ts", import.meta.url));
const WATCHER = fileURLToPath(new URL("../loadbalancer/fixtures/who-answers.py", import.meta.url));
const patience = { timeout: 60_000, interval: 50 };

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
  readonly key = randomBytes(32).toString("hex");
  readonly #namespaces: TestNamespaces;
  readonly #processes: Process[] = [];

  constructor(nodes: readonly string[]) {
    this.#namespaces = createNamespaces(nodes.length + 2);
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

  /** Another interface of a node on the same bridge. */
  addLink(station: Station, device: string): void {
    const port = `to-${station.name}-${device}`;
    ip(this.bridge, `link add ${port} type veth peer name ${device} netns ${station.netns}`, `link set ${port} master br0 up`);
    ip(station.netns, `link set ${device} up`);
  }

  start(name: string, more: Partial<NodeSettings> = {}): L2Node {
    const station = this.station(name);
    const peers = Object.fromEntries(this.stations.map((one) => [one.name, [one.ipv4]]));
    const settings: NodeSettings = { node: name, key: this.key, peers, ...more };
    const entry = settings.netns === undefined ? ["ip", "netns", "exec", station.netns] : [];
    return new L2Node(station, this.#spawn([...entry, process.execPath, NODE_PROGRAM, JSON.stringify(settings)]));
  }

  /** From the client's place. */
  watch(address: string): Answers {
    const { netns, ipv4, ipv6 } = this.client;
    const own = address.includes(":") ? ipv6 : ipv4;
    return new Answers(this.#spawn(["ip", "netns", "exec", netns, "/usr/bin/python3", WATCHER, "eth0", address, own]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#processes.map(kill));
    await this.#namespaces.remove();
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
  #word: NodeWord | undefined;

  constructor(station: Station, child: Process) {
    this.station = station;
    this.#process = child;
    createInterface(child.stdout).on("line", (line) => (this.#word = JSON.parse(line) as NodeWord));
  }

  get word(): NodeWord {
    return this.#word ?? { states: {}, alive: {}, protection: { is: "on" } };
  }

  want(...wanted: NodeWish["wanted"]): void {
    this.#process.stdin.write(`${JSON.stringify({ wanted })}\n`);
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
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

  async is(address: string, state: NodeWord["states"][string]["is"]): Promise<NodeWord["states"][string]> {
    return vi.waitFor(() => {
      const now = this.word.states[address];
      if (now?.is !== state) throw new Error(`${this.station.name} is ${JSON.stringify(now)} for ${address}, not ${state}`);
      return now;
    }, patience);
  }

  async until(holds: (word: NodeWord) => boolean): Promise<void> {
    await vi.waitUntil(() => holds(this.word), patience);
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

async function kill(child: Process): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  child.kill("SIGCONT");
  await ended;
}

/** What a command prints in a station's namespace; what it says when it fails is the error. */
export function within({ netns }: Station, ...command: string[]): string {
  return execFileSync("ip", ["netns", "exec", netns, ...command], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}
