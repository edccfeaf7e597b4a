import { feed } from "../../hostnet/run.ts";
import type { LocalVni, Pair, ProbeInputs } from "./prober.ts";
import type { ProbeSocket } from "./probe-socket.ts";

const REPAIR_TICKS = 60;

/** Of a locally administered range: `pl` and the node index. */
export function probeMac(index: number): string {
  return ["02", "70", "6c", ...[16, 8, 0].map((shift) => ((index >>> shift) & 0xff).toString(16).padStart(2, "0"))].join(":");
}

/**
 * FRR knows the router MAC of a peer only while a route of the VRF leads there. Then the frame takes the way of routed traffic. Without one its answer proves only that VXLAN
 * works; what else is expected of a peer that announces prefixes is in `lacking`.
 */
export function macOf({ peers, routerMac }: ProbeInputs, { type, vni }: LocalVni, peer: number): string {
  return (type === "L3" ? routerMac(vni, peers.get(peer)?.vtep ?? "") : undefined) ?? probeMac(peer);
}

interface ProbeEntry {
  readonly bridge: string;
  readonly vxlan: string;
  readonly devices: string;
  /** Of another node, or our own. */
  readonly index: number;
  /** Where the other node is; missing for our own MAC. */
  readonly vtep?: string;
}

/** Where the peers are: FDB entries in the kernel, and what the probe process has to know. */
export class ProbeRoutes {
  readonly #netns: string;
  readonly #socket: Pick<ProbeSocket, "tell">;
  #entries = new Map<string, ProbeEntry>();
  /** Asked for since the last tick. */
  #requested = new Map<string, ProbeEntry>();
  /** What the process was sent, by the line that undoes it. */
  #sent = new Map<string, string>();
  #ticks = 0;

  constructor(netns: string, socket: Pick<ProbeSocket, "tell">) {
    this.#netns = netns;
    this.#socket = socket;
  }

  /** The process is another one, and knows nothing. */
  restart(): void {
    this.#sent.clear();
  }

  /** Tells the process who and what there is, and the kernel where the peers are. */
  async prepare(inputs: ProbeInputs, pairs: readonly Pair[], signal: AbortSignal): Promise<void> {
    const wanted = new Map<string, ProbeEntry>();
    for (const vni of inputs.vnis) wanted.set(`${vni.bridge} ${inputs.index}`, { ...vni, index: inputs.index });
    for (const { peer, vni } of pairs) {
      const vtep = inputs.peers.get(peer)?.vtep;
      if (vtep !== undefined) wanted.set(`${vni.bridge} ${peer}`, { ...vni, index: peer, vtep });
    }
    // Those who probe us and whom we do not probe: their entries stay for as long as both have the VNI.
    for (const [key, entry] of [...this.#entries, ...this.#requested]) {
      if (wanted.has(key)) continue;
      const vni = inputs.vnis.find(({ bridge, vni }) => bridge === entry.bridge && inputs.members.get(vni)?.includes(entry.index));
      const vtep = inputs.peers.get(entry.index)?.vtep;
      if (vni && vtep !== undefined) wanted.set(key, { ...vni, index: entry.index, vtep });
    }
    this.#requested = new Map();
    await this.#apply(wanted, signal);
    this.#tell(inputs);
  }

  async #apply(wanted: Map<string, ProbeEntry>, signal: AbortSignal): Promise<void> {
    const same = (a: ProbeEntry, b: ProbeEntry | undefined) => b !== undefined && a.vtep === b.vtep && a.devices === b.devices;
    const gone = [...this.#entries].filter(([key]) => !wanted.has(key)).map(([, entry]) => entry);
    const repair = (this.#ticks += 1) % REPAIR_TICKS === 0;
    const added = [...wanted].filter(([key, entry]) => repair || !same(entry, this.#entries.get(key))).map(([, entry]) => entry);
    await removeProbeEntries(this.#netns, gone, signal);
    await replaceProbeEntries(this.#netns, added, signal);
    this.#entries = wanted;
  }

  #tell(inputs: ProbeInputs): void {
    const facts = new Map<string, string>([["self", `self ${inputs.index} ${inputs.vtep}`]]);
    const own = probeMac(inputs.index).replaceAll(":", "");
    for (const { bridge, vni } of inputs.vnis) facts.set(`drop ${bridge}`, `vni ${bridge} ${vni} ${own}`);
    for (const [peer, { key, vtep }] of inputs.peers) facts.set(`forget ${peer}`, `peer ${peer} ${key.toString("hex")} ${vtep}`);
    for (const { bridge, index, vtep } of this.#entries.values()) {
      if (vtep !== undefined) facts.set(`unroute ${bridge} ${index}`, `route ${bridge} ${index}`);
    }
    for (const { bridge, vni } of inputs.vnis) {
      for (const peer of inputs.lacking.get(vni) ?? []) facts.set(`has ${bridge} ${peer}`, `lacks ${bridge} ${peer}`);
      const targets = inputs.exports.get(vni);
      if (targets !== undefined) facts.set(`silent ${bridge}`, `exports ${bridge} ${targets}`);
    }
    const lines = [...this.#sent.keys()].filter((undo) => undo !== "self" && !facts.has(undo));
    for (const [undo, fact] of facts) if (this.#sent.get(undo) !== fact) lines.push(fact);
    this.#sent = facts;
    this.#socket.tell(lines);
  }

  /** A peer that we do not probe probes us: the answer gets an entry, from the next tick on. */
  answerTo(inputs: ProbeInputs, device: string, peer: number): void {
    const vni = inputs.vnis.find(({ bridge }) => bridge === device);
    const vtep = inputs.peers.get(peer)?.vtep;
    if (!vni || vtep === undefined || !inputs.members.get(vni.vni)?.includes(peer)) return;
    this.#requested.set(`${vni.bridge} ${peer}`, { ...vni, index: peer, vtep });
  }
}

/**
 * FDB entries with which a probe goes to one node and not to all nodes of a VNI: our own probe MAC is local to the bridge; that of a peer is behind the VXLAN
 * device, at the peer's VTEP. They go with the devices. `replace` also repairs what somebody removed.
 */
async function replaceProbeEntries(netns: string, entries: readonly ProbeEntry[], signal: AbortSignal): Promise<void> {
  await batch(
    netns,
    entries.flatMap((entry) => linesOf(entry, "replace")),
    signal,
  );
}

async function removeProbeEntries(netns: string, entries: readonly ProbeEntry[], signal: AbortSignal): Promise<void> {
  await batch(
    netns,
    entries.flatMap((entry) => linesOf(entry, "del")),
    signal,
  );
}

function linesOf({ bridge, vxlan, index, vtep }: ProbeEntry, verb: "replace" | "del"): string[] {
  const mac = probeMac(index);
  if (vtep === undefined) return [`fdb ${verb} ${mac} dev ${bridge} self permanent`];
  return [`fdb ${verb} ${mac} dev ${vxlan} master static`, `fdb ${verb} ${mac} dev ${vxlan} dst ${vtep} self static`];
}

/** `-force`: a device that has just gone takes nothing else with it. */
async function batch(netns: string, lines: readonly string[], signal: AbortSignal): Promise<void> {
  if (lines.length === 0) return;
  // By a pipe: there may be more than fit into arguments.
  await feed(["bridge", "-n", netns, "-force", "-batch", "-"], `${lines.join("\n")}\n`, { signal, namespace: netns });
}
