import { list, members, number, read, record, text, type ShowClient, type UnparsedAnswer } from "./show-json.ts";

/** What bgpd reports about a neighbor and its session. */
export interface BgpNeighbor {
  readonly vrf: string;
  /** Its address, or the interface of an unnumbered one. */
  readonly neighbor: string;
  /** The state machine's: `Established`, `Active`, `Idle`, `Connect`, `Idle (Admin)`… */
  readonly state: string;
  /** Its port, while there is a connection. */
  readonly port?: number;
  /** `Up`, `Down`, `Unknown`…; not there without BFD. */
  readonly bfd?: string;
  /** How long it has been up, or down. Not there for one that was never up. */
  readonly sinceMs?: number;
  /** Why it went down, or did not come up. */
  readonly lastReset?: string;
  readonly sentPrefixes: number;
  readonly receivedPrefixes: number;
  readonly messages: Readonly<Record<MessageCount, number>>;
}

const MESSAGES = [
  "opensSent",
  "opensRecv",
  "notificationsSent",
  "updatesSent",
  "updatesRecv",
  "keepalivesSent",
  "keepalivesRecv",
  "routeRefreshSent",
  "totalSent",
  "totalRecv",
] as const;

type MessageCount = (typeof MESSAGES)[number];

export interface BfdCounters {
  readonly vrf: string;
  readonly peer: string;
  readonly controlIn: number;
  readonly controlOut: number;
  readonly echoIn: number;
  readonly echoOut: number;
  readonly ups: number;
  readonly downs: number;
  readonly zebraNotifications: number;
}

/** The neighbors of every VRF, in FRR's order. */
export async function bgpNeighbors(router: ShowClient, signal: AbortSignal): Promise<BgpNeighbor[]> {
  const vrfs = await read(router, "bgpd", "show bgp vrf all neighbors json", signal);
  return members(vrfs).flatMap(([vrf, neighbors]) => members(neighbors).map(([neighbor, said]) => neighborOf(vrf, neighbor, record(said))));
}

export async function bfdCounters(router: ShowClient, signal: AbortSignal): Promise<BfdCounters[]> {
  return list(await read(router, "bfdd", "show bfd peers counters json", signal)).map((said) => countersOf(record(said)));
}

function neighborOf(vrf: string, neighbor: string, said: UnparsedAnswer): BgpNeighbor {
  const state = text(said["bgpState"]) ?? "Unknown";
  const port = number(said["portForeign"]);
  const bfd = text(record(said["peerBfdInfo"])["status"]);
  const sinceMs = sinceOf(state, said);
  const lastReset = lastResetOf(state, said);
  const families = members(said["addressFamilyInfo"]).map(([, family]) => record(family));
  const counts = record(said["messageStats"]);
  return {
    vrf,
    neighbor,
    state,
    ...(port > 0 && { port }),
    ...(bfd !== undefined && { bfd }),
    ...(sinceMs !== undefined && { sinceMs }),
    ...(lastReset !== undefined && { lastReset }),
    sentPrefixes: sum(families, "sentPrefixCounter"),
    receivedPrefixes: sum(families, "acceptedPrefixCounter"),
    messages: Object.fromEntries(MESSAGES.map((name) => [name, number(counts[name])])) as Record<MessageCount, number>,
  };
}

function sinceOf(state: string, said: UnparsedAnswer): number | undefined {
  if (state === "Established") return number(said["bgpTimerUpMsec"]);
  return number(said["connectionsEstablished"]) > 0 ? number(said["lastResetTimerMsecs"]) : undefined;
}

/** With what the other side said, or was told, where that is why. What a session waited for until it first came up was no reset. */
function lastResetOf(state: string, said: UnparsedAnswer): string | undefined {
  if (state === "Established" && number(said["connectionsDropped"]) === 0) return undefined;
  const [due, notification] = [text(said["lastResetDueTo"]), text(said["lastNotificationReason"])];
  return due !== undefined && notification !== undefined && /notification/i.test(due) ? `${due}: ${notification}` : due;
}

function countersOf(said: UnparsedAnswer): BfdCounters {
  return {
    vrf: text(said["vrf"]) ?? "default",
    peer: text(said["peer"]) ?? "",
    controlIn: number(said["control-packet-input"]),
    controlOut: number(said["control-packet-output"]),
    echoIn: number(said["echo-packet-input"]),
    echoOut: number(said["echo-packet-output"]),
    ups: number(said["session-up"]),
    downs: number(said["session-down"]),
    zebraNotifications: number(said["zebra-notifications"]),
  };
}

function sum(families: readonly UnparsedAnswer[], name: string): number {
  return families.reduce((total, family) => total + number(family[name]), 0);
}
