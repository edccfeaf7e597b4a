import { networkInterfaces } from "node:os";
import { type Address, parseAddress } from "../../ip/address.ts";
import type { Prefix } from "../../ip/prefix.ts";
import { scopeOf } from "../../ip/scope.ts";
import type { Action, ProbeFailure } from "../history/attempt.ts";
import type { Probed } from "../history/history.ts";
import { errnoText, eventLoopStalled, exhausted, type LocalFault, type Unobserved, resourceExhausted } from "./errno.ts";
import type { HttpFailure } from "./http.ts";
import { noRouter, reachFromRouter, type RouterConnections } from "./reach-from-router.ts";
import { forbiddenReason } from "./special-addresses.ts";
import type { Target } from "./target.ts";
import { type Connect, openTcp } from "./tcp.ts";
import { timed } from "./timed.ts";

export interface ReachOptions {
  readonly allowed: readonly Prefix[];
  readonly connect: Connect;
  /** Unset where no router runs. */
  readonly router?: RouterConnections | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Whether messages must name the address. */
  readonly oneOfSeveral: boolean;
}

type Result = HttpFailure | { readonly outcome: "ConnectDone" } | { readonly outcome: "HTTPDone"; readonly status: number };
type Tried = LocalFault | { readonly result: Result; readonly at: number; readonly latencyMs: number };

/** Connects or sends a request to one address of a target. Several results are from several VRFs of the router. */
export async function reach(
  target: Target,
  address: Address,
  options: ReachOptions,
): Promise<readonly (Action | LocalFault | Unobserved)[]> {
  const { from, vrf } = target.probed?.probe ?? {};
  const { router } = options;
  if (from === undefined || forbiddenReason(address, options.allowed) !== undefined) return [await reachDirectly(target, address, options)];
  return router ? reachFromRouter(target.text, { address, port: target.port, vrf }, { ...options, router }) : [noRouter];
}

async function reachDirectly(target: Target, address: Address, options: ReachOptions): Promise<Action | LocalFault> {
  const tried = await attempt(target, address, options);
  if ("fault" in tried) return tried;
  const { result, at, latencyMs } = tried;
  const which = options.oneOfSeveral ? ` (${address.toString()})` : "";
  return { outcome: result.outcome, at, latencyMs, message: `${messageOf(target, result)}${which}` };
}

async function attempt(target: Target, address: Address, options: ReachOptions): Promise<Tried> {
  const forbidden = forbiddenReason(address, options.allowed);
  if (forbidden !== undefined) return { result: { outcome: "ConnectError", why: forbidden }, at: Date.now(), latencyMs: 0 };
  const { probe } = target.probed ?? {};
  const tried = await (probe && probe.type !== "TCP" ? requested(target, probe, address, options) : connected(target, address, options));
  if ("fault" in tried || !("code" in tried.result)) return tried;
  const { code = "" } = tried.result;
  const lack = exhausted(code);
  return lack && !(code === "EADDRNOTAVAIL" && lacksFamily(address)) ? resourceExhausted(lack, code) : tried;
}

async function connected({ port }: Target, address: Address, { connect, timeoutMs, signal }: ReachOptions): Promise<Tried> {
  const { result, at, latencyMs } = await timed(() => connect(address, port), timeoutMs, signal);
  if (result === "stalled") return eventLoopStalled;
  if (result === undefined) return { result: { outcome: "ConnectDone" }, at, latencyMs };
  const code = result === "late" ? "ETIMEDOUT" : result;
  return { result: { outcome: "ConnectError", why: errnoText(code), code }, at, latencyMs };
}

type Probe = Probed["probe"];

async function requested(target: Target, probe: Probe, address: Address, { timeoutMs, signal }: ReachOptions): Promise<Tried> {
  // Most sources only connect: they load no HTTP client.
  const { prepareGet } = await import("./http.ts");
  const get = prepareGet(target.host, target.port, address, probe, openTcp);
  const { task, result, at, latencyMs } = await timed(get, timeoutMs, signal);
  if (result === "stalled") return eventLoopStalled;
  if (result === "late") return { result: task.unfinished(), at, latencyMs };
  return { result: "status" in result ? { outcome: "HTTPDone", status: result.status } : result, at, latencyMs };
}

/** The history of a check is restored from these texts: see `history/from-status.ts`. */
function messageOf({ text, address }: Target, result: Result): string {
  if (result.outcome === "ConnectDone") return address ? `Connected to ${text}` : `Connection to ${text} established.`;
  return result.outcome === "HTTPDone" ? `HTTP ${result.status} from ${text}` : `${FAILED[result.outcome]} ${text}; ${result.why}`;
}

const FAILED: Readonly<Record<ProbeFailure, string>> = {
  ConnectError: "Failed connect to",
  TLSError: "Failed TLS with",
  HTTPError: "Failed request to",
  UnexpectedStatus: "Unexpected answer of",
  BodyMismatch: "Unexpected answer of",
};

/** The kernel returns the same code if all ports are in use and if there is no local address of the family. */
function lacksFamily(target: Address): boolean {
  const own = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses.map(({ address }) => parseAddress(address)));
  return !own.some((address) => address.family === target.family && scopeOf(address) === scopeOf(target));
}
