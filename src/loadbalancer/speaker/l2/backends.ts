import { join } from "node:path";
import { nft } from "../../../hostnet/nft.ts";
import { run } from "../../../hostnet/run.ts";
import { watchNamespace } from "../../../hostnet/watch-links.ts";
import type { Log } from "../../../kube/log.ts";
import { NodeLinks } from "./node-links.ts";
import { PacketSocket, type PacketSocketEvents } from "./packet-socket.ts";

export interface L2Backends {
  readonly links: Pick<NodeLinks, "read" | "carryOut" | "takeOffNics" | "outlast">;
  packetSocket(
    events: PacketSocketEvents,
  ): Pick<
    PacketSocket,
    | "run"
    | "fault"
    | "isUp"
    | "watch"
    | "probe"
    | "check"
    | "leave"
    | "answer"
    | "mute"
    | "renew"
    | "announce"
    | "send"
    | "listenTo"
    | "sync"
  >;
  nft(text: string, signal: AbortSignal): Promise<void>;
  /** The interfaces on which the existing rules let the kernel answer ARP, by address and interface; undefined without rules. */
  selected(signal: AbortSignal): Promise<ReadonlySet<string> | undefined>;
  /** Calls `ring` when links or addresses change. */
  watch(ring: () => void, signal: AbortSignal): Promise<void>;
}

export function l2BackendsOf(namespace: string | undefined, port: number, log: Log): L2Backends {
  return {
    links: new NodeLinks(namespace, log),
    packetSocket: (events) => new PacketSocket({ netns: namespace, port, log, ...events }),
    nft: (text, signal) => nft(text, { signal, namespace }),
    selected: (signal) => selectedIn(namespace, signal),
    watch: (ring, signal) => watchNamespace(namespace, ring, signal, (error) => log.warn({ error }, "link watch ended, restarting")),
  };
}

async function selectedIn(namespace: string | undefined, signal: AbortSignal): Promise<ReadonlySet<string> | undefined> {
  const entry = namespace === undefined ? [] : ["nsenter", `--net=${join("/run/netns", namespace)}`, "--"];
  const [program, ...args] = [...entry, "nft", "-j", "list", "set", "arp", "plumbline", "selected"];
  const output = await run(program, args, { signal, namespace }).catch(() => undefined);
  if (!output) return undefined;
  const { nftables } = JSON.parse(output.stdout) as { nftables: { set?: { elem?: { concat: [string, string] }[] } }[] };
  return new Set(nftables.flatMap(({ set }) => set?.elem ?? []).map(({ concat: [device, address] }) => `${address} ${device}`));
}
