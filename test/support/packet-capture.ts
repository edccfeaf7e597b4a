import { Machine, type RemoteProcess } from "../../lab/machine/machine.ts";
import { ACCESS_BRIDGE } from "../../lab/net/topology.ts";
import type { RouterLab } from "../../lab/cli/router-lab.ts";
import { readFrame } from "../../src/loadbalancer/speaker/l2/frames.ts";

const HEARTBEAT_PORT = 7947;
/** What comes by on a link, ARP and heartbeats only: when, in milliseconds, and its first bytes. */
const SCRIPT = `
import socket, struct, sys, time
link = sys.argv[1]
tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
tap.bind((link, 0))
tap.setsockopt(263, 1, struct.pack("iHH8s", socket.if_nametoindex(link), 1, 0, b""))
while True:
    frame, address = tap.recvfrom(2048)
    if address[2] == 4: continue
    if frame[12:14] == b"\\x08\\x06" or (frame[12:14] == b"\\x08\\x00" and frame[23] == 17 and frame[36:38] == struct.pack("!H", ${HEARTBEAT_PORT})):
        print(int(time.time() * 1000), frame[:60].hex(), flush=True)
`;

export interface ObservedHeartbeat {
  readonly at: number;
  /** Addresses of nodes. */
  readonly from: string;
  readonly to: string;
}

export interface ObservedFrame {
  readonly at: number;
  readonly what: "claim" | "probe";
  readonly address: string;
  readonly mac: string;
}

/** What nodes say to each other and on the client's segment, in the order in which it was said. */
export class PacketCapture {
  readonly beats: ObservedHeartbeat[] = [];
  readonly frames: ObservedFrame[] = [];
  readonly #taps: RemoteProcess[];

  constructor(lab: RouterLab) {
    const tor = lab.host("tor");
    this.#taps = [new Machine(tor.access.machine).start(tapping("mgmt")), tor.start(tapping(ACCESS_BRIDGE))];
    for (const tap of this.#taps) tap.onOutput = linewise((at, frame) => this.#take(at, frame));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#taps.map((tap) => tap.kill()));
  }

  #take(at: number, frame: Buffer): void {
    if (frame.readUInt16BE(12) !== 0x0806) {
      return void this.beats.push({ at, from: frame.subarray(26, 30).join("."), to: frame.subarray(30, 34).join(".") });
    }
    const message = readFrame(frame);
    if (message) this.frames.push({ at, what: message.what, address: String(message.address), mac: message.mac });
  }
}

function tapping(link: string): string[] {
  return ["python3", "-I", "-S", "-c", SCRIPT, link];
}

function linewise(take: (at: number, frame: Buffer) => void): (chunk: Buffer) => void {
  let rest = "";
  return (chunk) => {
    const lines = (rest + chunk.toString()).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const [at, hex = ""] = line.split(" ");
      take(Number(at), Buffer.from(hex, "hex"));
    }
  };
}
