import { readFileSync } from "node:fs";
import { keepRunning } from "../../../util/keep-running.ts";
import { Address } from "../../../ip/address.ts";
import { type PythonProcess, startPython } from "../../../hostnet/python-process.ts";
import type { Log } from "../../../kube/log.ts";
import { l2Heartbeats, l2PacketErrors, l2PacketSocketRestarts } from "../../metrics.ts";
import { announcement, octets, probe, readFrame, type ArpOrNdpMessage } from "./frames.ts";
import type { Nic } from "./interfaces.ts";

/** Set by the build. */
declare const PACKET_SOCKET_SCRIPT: string | undefined;

/** Read at start: programs that never start it also run without the file. */
function script(): string {
  return typeof PACKET_SOCKET_SCRIPT === "string"
    ? PACKET_SOCKET_SCRIPT
    : readFileSync(new URL("./packet-socket.py", import.meta.url), "utf8");
}

const PROTOCOL = { 4: "2054", 6: "34525" } as const;

/** It answers in a moment, or never. */
const STUCK_MS = 5_000;
/** A second less than others need to consider this node silent. */
const LEASE_S = 3;
const RENEW_MS = 1_000;
const ERROR_EVERY_MS = 60_000;

export interface PacketSocketEvents {
  /** It has started or restarted: earlier probes have no result. */
  onStart(): void;
  /** It has ended: `fault` says why. */
  onEnd(): void;
  onMessage(message: ArpOrNdpMessage, device: string): void;
  /** The number of requests for a watched address in the last second. */
  onRequests(address: Address, device: string, times: number): void;
  /** Its lease was not renewed in time, and it has stopped answering. */
  onLapse(): void;
  /** Only from addresses that are listened to. */
  onDatagram(bytes: Buffer, from: string): void;
  onFailed(device: string, reason: string): void;
}

export interface PacketSocketOptions extends PacketSocketEvents {
  readonly netns?: string | undefined;
  readonly port: number;
  readonly log: Log;
}

/** Sends and receives ARP and NDP on the node's segments: one process for all addresses and both families, restarted when it ends. */
export class PacketSocket {
  readonly #options: PacketSocketOptions;
  readonly #watched = new Map<string, Buffer>();
  readonly #answers = new Map<string, string>();
  #leaseEnd = 0;
  #senders: readonly string[] = [];
  readonly #syncs = new Map<string, (silent: boolean) => void>();
  #process: PythonProcess | undefined;
  #outbox: string[] = [];
  #ready = false;
  #fault: string | undefined;
  #synced = 0;
  #quietUntil = 0;

  constructor(options: PacketSocketOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    await keepRunning(
      () => this.#runOnce(signal),
      signal,
      (reason) => {
        l2PacketSocketRestarts.inc();
        this.#fault = reason;
        this.#options.onEnd();
        this.#options.log.warn({ reason }, "packet socket process ended, restarting");
      },
    );
  }

  /** Undefined while it works. */
  get fault(): string | undefined {
    return this.#fault;
  }

  get isUp(): boolean {
    return this.#ready;
  }

  /** Replaces the addresses whose frames are reported. */
  watch(addresses: readonly Address[]): void {
    const wanted = new Map(addresses.map((address) => [String(address), octets(address)]));
    for (const [text, bytes] of this.#watched)
      if (!wanted.has(text) && this.#watched.delete(text)) this.#write("unwatch", bytes.toString("hex"));
    for (const [text, bytes] of wanted) {
      if (this.#watched.has(text)) continue;
      this.#watched.set(text, bytes);
      this.#write("watch", bytes.toString("hex"));
    }
  }

  probe(address: Address, nic: Nic): void {
    if (address.family === 6) this.#write("join", nic.name, hexOf(address));
    this.check(address, nic);
  }

  /** Whether another machine has an owned address. */
  check(address: Address, { name, mac }: Nic): void {
    this.#write("tx", name, PROTOCOL[address.family], probe(mac, address).toString("hex"));
  }

  leave(address: Address, { name }: Nic): void {
    if (address.family === 6) this.#write("leave", name, hexOf(address));
  }

  /** Answers requests on the interface, if the kernel does not, while this process renews the lease. */
  answer(address: Address, { name, mac }: Nic): void {
    const key = `${name} ${hexOf(address)}`;
    if (!this.#ready || this.#answers.get(key) === mac) return;
    this.#answers.set(key, mac);
    this.#write("answer", key, mac.replaceAll(":", ""));
  }

  mute(address: Address, { name }: Nic): void {
    const key = `${name} ${hexOf(address)}`;
    if (this.#answers.delete(key)) this.#write("mute", key);
  }

  /**
   * Renews the lease. The time is from the clock that both processes share, so that data in the pipe while either was stopped does not
   * count. Call it also before acting on what it answers for: this process may have been suspended.
   */
  renew(): void {
    const now = Number(process.hrtime.bigint()) / 1e9;
    const isLate = this.#answers.size > 0 && now >= this.#leaseEnd;
    this.#leaseEnd = now + LEASE_S;
    this.#write("lease", String(this.#leaseEnd));
    if (isLate) this.#lapse();
  }

  announce(address: Address, { name, mac }: Nic): void {
    this.#write("tx", name, PROTOCOL[address.family], announcement(mac, address).toString("hex"));
  }

  /** Uses this source address, if the node has it. */
  send(address: string, bytes: Buffer, source: string | undefined): void {
    this.#write("udp", address, bytes.toString("hex"), ...(source === undefined ? [] : [source]));
  }

  /** Replaces the addresses whose datagrams are reported. */
  listenTo(addresses: readonly Address[]): void {
    this.#senders = addresses.map((address) => octets(address).toString("hex"));
    this.#write("senders", ...this.#senders);
  }

  /** True once everything received until now is reported; false if that can no longer be known. */
  sync(): Promise<boolean> {
    if (!this.#ready) return Promise.resolve(false);
    const number = String((this.#synced += 1));
    this.#write("sync", number);
    const stuck = setTimeout(() => this.#process?.kill(), STUCK_MS);
    return new Promise((resolve) =>
      this.#syncs.set(number, (silent) => {
        clearTimeout(stuck);
        resolve(silent);
      }),
    );
  }

  async #runOnce(signal: AbortSignal): Promise<string> {
    const { netns, port } = this.#options;
    this.#process = startPython({ script: script(), args: [String(port)], netns, signal, onLine: (line) => this.#tryTake(line) });
    const renewal = setInterval(() => this.renew(), RENEW_MS);
    const last = await this.#process.ended;
    clearInterval(renewal);
    this.#process = undefined;
    this.#ready = false;
    this.#outbox = [];
    this.#answers.clear();
    for (const end of this.#syncs.values()) end(false);
    this.#syncs.clear();
    return last;
  }

  /** Invalid input from the network must not end the agent. */
  #tryTake(line: string): void {
    try {
      this.#take(line);
    } catch (error) {
      l2PacketErrors.inc();
      if (performance.now() < this.#quietUntil) return;
      this.#quietUntil = performance.now() + ERROR_EVERY_MS;
      this.#options.log.error({ error, line: line.slice(0, 200) }, "cannot handle a received frame");
    }
  }

  #take(line: string): void {
    const [verb, first = "", ...rest] = line.split(" ");
    const { log, ...events } = this.#options;
    if (verb === "rx") {
      const message = readFrame(Buffer.from(rest[0] ?? "", "hex"));
      if (message) events.onMessage(message, first);
    } else if (verb === "requests") {
      const [hex = "", times = ""] = rest;
      events.onRequests(addressIn(hex), first, Number(times));
    } else if (verb === "datagram") {
      events.onDatagram(Buffer.from(rest[0] ?? "", "hex"), String(addressIn(first)));
    } else if (verb === "dropped") {
      l2Heartbeats.inc({ outcome: "dropped" }, Number(first));
    } else if (verb === "lapsed") {
      this.#lapse();
    } else if (verb === "synced") {
      this.#syncs.get(first)?.(true);
      this.#syncs.delete(first);
    } else if (verb === "failed") {
      events.onFailed(first, rest.join(" "));
    } else if (verb === "deaf") {
      log.warn({ port: this.#options.port, parts: [first, ...rest].join(" ") }, "cannot receive heartbeats; using Leases only");
    } else if (verb === "ready") {
      this.#ready = true;
      this.#fault = undefined;
      this.renew();
      for (const bytes of this.#watched.values()) this.#write("watch", bytes.toString("hex"));
      this.#write("senders", ...this.#senders);
      events.onStart();
    }
  }

  #lapse(): void {
    this.#answers.clear();
    this.#options.onLapse();
  }

  /** Lost while the process does not run; see `sync`. */
  #write(...parts: string[]): void {
    if (!this.#ready) return;
    if (this.#outbox.length === 0) queueMicrotask(() => this.#process?.write(this.#outbox.splice(0).join("")));
    this.#outbox.push(`${parts.join(" ")}\n`);
  }
}

const hexOf = (address: Address) => octets(address).toString("hex");
const addressIn = (hex: string) => new Address(hex.length === 8 ? 4 : 6, BigInt(`0x${hex}`));
