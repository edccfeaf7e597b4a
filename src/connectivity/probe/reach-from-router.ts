import type { Address } from "../../ip/address.ts";
import type { Task } from "../../util/deadline.ts";
import type { Action } from "../history/attempt.ts";
import { errnoText, eventLoopStalled, exhausted, type LocalFault, type Unobserved, resourceExhausted } from "./errno.ts";
import { timed } from "./timed.ts";

/** Connections out of the namespace of this node's router. */
export interface RouterConnections {
  /** In one VRF, or in each that has the most specific route. */
  connect(address: Address, port: number, vrf: string | undefined, timeoutMs: number): Task<RouterAnswer>;
}

export type RouterAnswer = "no router" | { readonly fault: string } | { readonly results: readonly RouterResult[] };

/** Without a VRF: of the default one. */
export type RouterResult =
  | { readonly vrf?: string; readonly latencyMs: number; readonly code?: string }
  /** Every node's router has this source address, so the answer would not come back. */
  | { readonly vrf?: string; readonly sharedSource: string }
  /** The route leads to the host of this node, and its kube-proxy would answer. */
  | { readonly vrf?: string; readonly isOwnHost: true };

/** The process notices the timeout itself. */
const MORE_MS = 2_000;

interface RouterOptions {
  readonly router: RouterConnections;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Whether messages must name the address. */
  readonly oneOfSeveral: boolean;
}

/** The results of one address by VRF. */
export async function reachFromRouter(
  text: string,
  { address, port, vrf }: { address: Address; port: number; vrf: string | undefined },
  { router, timeoutMs, signal, oneOfSeveral }: RouterOptions,
): Promise<readonly (Action | LocalFault | Unobserved)[]> {
  const { result, at } = await timed(() => router.connect(address, port, vrf, timeoutMs), timeoutMs + MORE_MS, signal);
  if (result === "no router") return [noRouter];
  if (result === "stalled") return [eventLoopStalled];
  if (result === "late") return [routerFault("Cannot connect from the router: its process does not answer")];
  if ("fault" in result) return [routerFault(result.fault)];
  const results = result.results.map((one) => {
    const names = [
      ...(oneOfSeveral ? [address.toString()] : []),
      ...(one.vrf === undefined || vrf !== undefined ? [] : [`VRF ${one.vrf}`]),
    ];
    return resultOf(text, one, at, names.length > 0 ? ` (${names.join(", ")})` : "");
  });
  const observed = results.filter((one) => !("isNotObserved" in one));
  return observed.length > 0 ? observed : results;
}

function resultOf(text: string, one: RouterResult, at: number, which: string): Action | LocalFault | Unobserved {
  const where = one.vrf === undefined ? "the router" : `VRF ${one.vrf}`;
  if ("sharedSource" in one)
    return notObserved(`${where} has no address of its own on this node, and answers to ${one.sharedSource} do not come back`);
  if ("isOwnHost" in one) return notObserved("the route leads to this node itself");
  const { code, latencyMs } = one;
  if (code === undefined) return { outcome: "ConnectDone", at, latencyMs, message: `Connected to ${text}${which}` };
  if (code === "ENODEV") return notObserved(`the router of this node has no VRF ${one.vrf ?? ""}`);
  const lack = exhausted(code);
  // Without an address of the family it has no way to the target.
  if (lack && code !== "EADDRNOTAVAIL") return resourceExhausted(lack, code);
  return { outcome: "ConnectError", at, latencyMs, message: `Failed connect to ${text}; ${errnoText(code)}${which}` };
}

/** The node itself must not connect instead: its own kube-proxy would answer. */
export const noRouter = notObserved("no router runs on this node");

function notObserved(why: string): Unobserved {
  return { fault: `Not observed: ${why}`, isNotObserved: true };
}

function routerFault(fault: string): LocalFault {
  return { cause: "router", fault };
}
