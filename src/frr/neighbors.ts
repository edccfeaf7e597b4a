import { list, members, number, read, record, text, type ShowClient, type UnparsedAnswer } from "./show-json.ts";

/** What bgpd reports about a neighbor and its session. */
export interface BgpNeighbor {
  readonly vrf: string;
  /** Its address, or the interface of an unnumbered one. */
  readonly neighbor: string;
  /** Its address, also of an unnumbered one; not there before that is known. */
  readonly address?: string;
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
  /** Why the peer closed the session, from its NOTIFICATION: `Cease/Maximum Number of Prefixes Reached`. Not there while it is up, or for other reasons. */
  readonly rejection?: string;
  /** bgpd has a connection, but knows no interface with the local address: it closes the connection before its OPEN. */
  readonly lacksInterface?: true;
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
  return members(vrfs).flatMap(([vrf, neighbors]) =>
    members(neighbors).map(([neighbor, answer]) => neighborOf(vrf, neighbor, record(answer))),
  );
}

export async function bfdCounters(router: ShowClient, signal: AbortSignal): Promise<BfdCounters[]> {
  return list(await read(router, "bfdd", "show bfd peers counters json", signal)).map((answer) => countersOf(record(answer)));
}

/** The prefixes in the adj-rib-out of a session that is up. */
export async function advertisedPrefixes(
  router: ShowClient,
  { vrf, neighbor, family }: { readonly vrf: string; readonly neighbor: string; readonly family: "IPv4" | "IPv6" },
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const line = `show bgp vrf ${vrf} ${family.toLowerCase()} unicast neighbors ${neighbor} advertised-routes json`;
  const answer = record(await read(router, "bgpd", line, signal));
  return new Set(members(answer["advertisedRoutes"]).map(([prefix]) => prefix));
}

function neighborOf(vrf: string, neighbor: string, answer: UnparsedAnswer): BgpNeighbor {
  const state = text(answer["bgpState"]) ?? "Unknown";
  const address = text(answer["bgpNeighborAddr"]) ?? (neighbor.includes(".") || neighbor.includes(":") ? neighbor : undefined);
  const port = number(answer["portForeign"]);
  const bfd = text(record(answer["peerBfdInfo"])["status"]);
  const sinceMs = sinceOf(state, answer);
  const lastReset = lastResetOf(state, answer);
  const rejection = rejectionOf(state, answer);
  const families = members(answer["addressFamilyInfo"]).map(([, family]) => record(family));
  const counts = record(answer["messageStats"]);
  return {
    vrf,
    neighbor,
    ...(address !== undefined && { address }),
    state,
    ...(port > 0 && { port }),
    ...(bfd !== undefined && { bfd }),
    ...(sinceMs !== undefined && { sinceMs }),
    ...(lastReset !== undefined && { lastReset }),
    ...(rejection !== undefined && { rejection }),
    ...(isWithoutInterface(state, answer) && { lacksInterface: true as const }),
    sentPrefixes: sum(families, "sentPrefixCounter"),
    receivedPrefixes: sum(families, "acceptedPrefixCounter"),
    messages: Object.fromEntries(MESSAGES.map((name) => [name, number(counts[name])])) as Record<MessageCount, number>,
  };
}

function sinceOf(state: string, answer: UnparsedAnswer): number | undefined {
  if (state === "Established") return number(answer["bgpTimerUpMsec"]);
  return number(answer["connectionsEstablished"]) > 0 ? number(answer["lastResetTimerMsecs"]) : undefined;
}

/** With what the other side said, or was told, where that is why. What a session waited for until it first came up was no reset. */
function lastResetOf(state: string, answer: UnparsedAnswer): string | undefined {
  if (state === "Established" && number(answer["connectionsDropped"]) === 0) return undefined;
  const [due, notification] = [text(answer["lastResetDueTo"]), text(answer["lastNotificationReason"])];
  if (due === undefined || notification === undefined || !/notification/i.test(due)) return due;
  return `${due}: ${notification}${isWithoutInterface(state, answer) ? " (bgpd knows no interface with the session's local address)" : ""}`;
}

/** An FSM error before OPEN, the session's first message, has no other cause. */
function isWithoutInterface(state: string, answer: UnparsedAnswer): boolean {
  const isSent = /notification sen[dt]/i.test(text(answer["lastResetDueTo"]) ?? "");
  return state === "Idle" && isSent && text(answer["lastErrorCodeSubcode"]) === "0500";
}

/** A peer whose hold timer expired did not hear us; every other NOTIFICATION is its decision. */
function rejectionOf(state: string, answer: UnparsedAnswer): string | undefined {
  const [due, code] = [text(answer["lastResetDueTo"]) ?? "", text(answer["lastErrorCodeSubcode"]) ?? ""];
  if (state === "Established" || !/notification received/i.test(due) || code.startsWith("04")) return undefined;
  return text(answer["lastNotificationReason"]) ?? "NOTIFICATION";
}

function countersOf(answer: UnparsedAnswer): BfdCounters {
  return {
    vrf: text(answer["vrf"]) ?? "default",
    peer: text(answer["peer"]) ?? "",
    controlIn: number(answer["control-packet-input"]),
    controlOut: number(answer["control-packet-output"]),
    echoIn: number(answer["echo-packet-input"]),
    echoOut: number(answer["echo-packet-output"]),
    ups: number(answer["session-up"]),
    downs: number(answer["session-down"]),
    zebraNotifications: number(answer["zebra-notifications"]),
  };
}

function sum(families: readonly UnparsedAnswer[], name: string): number {
  return families.reduce((total, family) => total + number(family[name]), 0);
}
