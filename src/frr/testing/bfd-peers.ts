import type { FrrClient } from "../client.ts";
import { list, read, record, text, type UnparsedAnswer } from "../show-json.ts";

interface BfdPeer {
  readonly vrf: string;
  readonly peer: string;
  readonly local?: string;
  readonly interface?: string;
  readonly multihop: boolean;
  /** `up`, `down`, `init` or `shutdown`. */
  readonly status: string;
  readonly uptimeSeconds?: number;
  /** Why it went down last. */
  readonly diagnostic?: string;
}

export async function bfdPeers(router: FrrClient, signal: AbortSignal): Promise<BfdPeer[]> {
  return list(await read(router, "bfdd", "show bfd peers json", signal)).map((peer) => bfdPeerOf(record(peer)));
}

function bfdPeerOf(peer: UnparsedAnswer): BfdPeer {
  const [local, device, diagnostic] = [text(peer["local"]), text(peer["interface"]), text(peer["diagnostic"])];
  return {
    vrf: text(peer["vrf"]) ?? "default",
    peer: text(peer["peer"]) ?? "",
    ...(local ? { local } : {}),
    ...(device ? { interface: device } : {}),
    multihop: peer["multihop"] === true,
    status: text(peer["status"]) ?? "unknown",
    ...(typeof peer["uptime"] === "number" ? { uptimeSeconds: peer["uptime"] } : {}),
    ...(diagnostic && diagnostic !== "ok" ? { diagnostic } : {}),
  };
}
