import type { Prefix } from "../../ip/prefix.ts";
import { checkActionSeconds, checkFaults } from "../metrics.ts";
import type { Attempt } from "../history/attempt.ts";
import { isReached } from "../history/history.ts";
import { Lookups } from "./lookups.ts";
import { reach } from "./reach.ts";
import type { RouterConnections } from "./reach-from-router.ts";
import { resolve, type Resolution } from "./resolve.ts";
import type { Target } from "./target.ts";
import { type Connect, tcpConnect } from "./tcp.ts";

export interface ProbeOptions {
  readonly signal: AbortSignal;
  /** Special addresses that are allowed. */
  readonly allowed: readonly Prefix[];
  /** Awaited before each connection but the first. */
  readonly admit?: () => Promise<void>;
  /** For the lookup, and for each connection. */
  readonly timeoutMs?: number;
  readonly lookups?: Lookups;
  readonly connect?: Connect;
  /** Of this node, if it may be one. */
  readonly router?: RouterConnections;
}

/** One per process, as the threads. */
const systemLookups = new Lookups();

/** One attempt: resolves the name, then connects or sends a request to each address. Rejects with the signal's reason. */
export async function probe(target: Target, seq: number, options: ProbeOptions): Promise<Attempt> {
  const { signal, allowed, admit, timeoutMs = 5000, lookups = systemLookups, connect = tcpConnect, router } = options;
  signal.throwIfAborted();
  const at = Date.now();
  const { addresses, lookup }: Partial<Resolution> = target.address
    ? { addresses: [target.address] }
    : await resolve(target.host, lookups, timeoutMs, signal);
  const connecting = { allowed, connect, router, timeoutMs, signal, oneOfSeveral: addresses.length > 1 };
  const connections = await Promise.all(
    addresses.map(async (address, index) => {
      if (index > 0) await admit?.();
      signal.throwIfAborted();
      return reach(target, address, connecting);
    }),
  );

  const results = lookup ? [lookup, ...connections.flat()] : connections.flat();
  const faults = results.filter((result) => "fault" in result);
  const actions = results.filter((result) => "outcome" in result);
  for (const one of faults) if ("cause" in one) checkFaults.inc({ cause: one.cause });
  for (const { outcome, latencyMs } of actions) checkActionSeconds.observe({ reason: outcome }, latencyMs / 1000);

  const reachable = actions.some(isReached);
  // An address that could not be tried might have answered.
  const [fault] = reachable ? [] : faults;
  const untried = fault && { fault: fault.fault, ...("isNotObserved" in fault && { isNotObserved: fault.isNotObserved }) };
  return { seq, at, target: target.text, actions, reachable, ...untried };
}
