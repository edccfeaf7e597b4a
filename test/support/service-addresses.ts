import type { RemoteProcess } from "../../lab/machine/machine.ts";
import { ACCESS_LINK } from "../../lab/net/topology.ts";
import type { RouterLab } from "../../lab/cli/router-lab.ts";
import { DEVICE } from "../../src/loadbalancer/speaker/l2/ip-address-commands.ts";
import { NODES } from "./nodes.ts";

/** Answers to one question come together; the next question is a second later. */
const SAME_QUESTION_MS = 400;

interface Turn {
  readonly at: number;
  readonly node: string;
  readonly address: string;
  readonly has: boolean;
}

/** Who has addresses of the client's segment, as the kernels of the nodes and the wire tell it, from the beginning. */
export class AddressHistory {
  /** Every time that a node got an address or lost it. */
  readonly turns: Turn[] = [];
  readonly #lab: RouterLab;
  readonly #holders = new Map<string, Set<string>>();
  readonly #overlaps: string[] = [];
  readonly #listening: RemoteProcess[] = [];

  constructor(lab: RouterLab) {
    this.#lab = lab;
    for (const node of NODES) {
      const monitor = lab.host(node).start(["ip", "-4", "-o", "monitor", "address"]);
      this.#listening.push(monitor);
      monitor.onOutput = linewise((line) => this.#read(node, line));
    }
  }

  /** The nodes whose kernels have an address now. */
  holders(address: string): string[] {
    return [...(this.#holders.get(address) ?? [])].toSorted();
  }

  /** Moments at which two nodes had an address, or two machines answered for it: there must be none. */
  get overlaps(): readonly string[] {
    return this.#overlaps;
  }

  /** Sends a request for an address once a second from now on. */
  ask(address: string): void {
    const arping = this.#lab.host("client").start(["arping", "-b", "-I", ACCESS_LINK, address]);
    this.#listening.push(arping);
    let last = { at: 0, mac: "" };
    arping.onOutput = linewise((line) => {
      const mac = /\[([0-9A-F:]+)\]/i.exec(line)?.[1];
      if (mac === undefined) return;
      const at = Date.now();
      if (last.mac !== mac && at - last.at < SAME_QUESTION_MS) this.#overlaps.push(`${address}: ${last.mac} and ${mac} both answer`);
      last = { at, mac };
    });
  }

  #read(node: string, line: string): void {
    // 7: plumbline-vip    inet 10.30.0.100/32 metric 26740 scope host dynamic plumbline-vip\       valid_lft 25sec preferred_lft 0sec
    const [, deleted, address] = new RegExp(`^(Deleted )?\\d+: ${DEVICE}\\s+inet ([\\d.]+)/32 `).exec(line) ?? [];
    if (address === undefined) return;
    const holders = this.#holders.get(address) ?? new Set();
    this.#holders.set(address, holders);
    const has = deleted === undefined;
    if (holders.has(node) === has) return;
    this.turns.push({ at: Date.now(), node, address, has });
    if (!has) return void holders.delete(node);
    holders.add(node);
    if (holders.size > 1) this.#overlaps.push(`${address} is on ${[...holders].join(" and ")}`);
  }
}

function linewise(take: (line: string) => void): (chunk: Buffer) => void {
  let rest = "";
  return (chunk) => {
    const lines = (rest + chunk.toString()).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) take(line);
  };
}
