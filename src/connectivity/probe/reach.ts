import { networkInterfaces } from "node:os";
import { parseAddress, type Address } from "../../ip/address.ts";
import type { Prefix } from "../../ip/prefix.ts";
import { scopeOf } from "../../ip/scope.ts";
import type { Action } from "../history/attempt.ts";
import type { Connect } from "./connect.ts";
import { errnoText, exhausted } from "./errno.ts";
import { resourceExhausted, eventLoopStalled, type LocalFault } from "./local-fault.ts";
import { forbiddenReason } from "./special-addresses.ts";
import type { Target } from "./target.ts";
import { timed } from "./timed.ts";

interface ReachOptions {
  readonly allowed: readonly Prefix[];
  readonly connect: Connect;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Whether messages must name the address. */
  readonly oneOfSeveral: boolean;
}

export async function connectTo(target: Target, address: Address, options: ReachOptions): Promise<Action | LocalFault> {
  const which = options.oneOfSeveral ? ` (${address.toString()})` : "";
  const failed = (why: string, at: number, latencyMs: number): Action => ({
    outcome: "ConnectError",
    at,
    latencyMs,
    message: `Failed connect to ${target.text}; ${why}${which}`,
  });

  const forbidden = forbiddenReason(address, options.allowed);
  if (forbidden !== undefined) return failed(forbidden, Date.now(), 0);

  const { result, at, latencyMs } = await timed(() => options.connect(address, target.port), options.timeoutMs, options.signal);
  if (result === undefined) {
    const message = target.address ? `Connected to ${target.text}` : `Connection to ${target.text} established.`;
    return { outcome: "ConnectDone", at, latencyMs, message: `${message}${which}` };
  }
  if (result === "stalled") return eventLoopStalled;
  const code = result === "late" ? "ETIMEDOUT" : result;
  const lack = exhausted(code);
  return lack && !(code === "EADDRNOTAVAIL" && lacksFamily(address))
    ? resourceExhausted(lack, code)
    : failed(errnoText(code), at, latencyMs);
}

/** The kernel returns the same code if all ports are in use and if there is no local address of the family. */
function lacksFamily(target: Address): boolean {
  const own = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses.map(({ address }) => parseAddress(address)));
  return !own.some((address) => address.family === target.family && scopeOf(address) === scopeOf(target));
}
