import { networkInterfaces } from "node:os";
import { connect, type Socket } from "node:net";
import type { Prefix } from "../../ip/prefix.ts";
import { checkActionSeconds, checkFaults } from "../metrics.ts";
import { type Attempt, type Action, NO_ANSWER } from "../history/attempt.ts";
import { Lookups, isNoAnswer } from "./lookups.ts";
import type { Target } from "./target.ts";
import { parseAddress, type Address, addressOf } from "../../ip/address.ts";
import { scopeOf } from "../../ip/scope.ts";
import { errnoText, exhausted, resourceExhausted, eventLoopStalled, type LocalFault } from "./errno.ts";
import { forbiddenReason } from "./special-addresses.ts";
import { timed } from "./timed.ts";
import type { Task } from "../../util/deadline.ts";

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
}

/** One per process, as the threads. */
const systemLookups = new Lookups();

/** One attempt: resolves the name, then connects to each address. Rejects with the signal's reason. */
export async function probe(target: Target, seq: number, options: ProbeOptions): Promise<Attempt> {
  const { signal, allowed, admit, timeoutMs = 5000, lookups = systemLookups, connect = tcpConnect } = options;
  signal.throwIfAborted();
  const at = Date.now();
  const { addresses, lookup }: Partial<Resolution> = target.address
    ? { addresses: [target.address] }
    : await resolve(target.host, lookups, timeoutMs, signal);
  const connecting = { allowed, connect, timeoutMs, signal, oneOfSeveral: addresses.length > 1 };
  const connections = await Promise.all(
    addresses.map(async (address, index) => {
      if (index > 0) await admit?.();
      signal.throwIfAborted();
      return connectTo(target, address, connecting);
    }),
  );

  const results = lookup ? [lookup, ...connections] : connections;
  const faults = results.filter((result) => "fault" in result);
  const actions = results.filter((result) => "outcome" in result);
  for (const { cause } of faults) checkFaults.inc({ cause });
  for (const { outcome, latencyMs } of actions) checkActionSeconds.observe({ reason: outcome }, latencyMs / 1000);

  const reachable = actions.some(({ outcome }) => outcome === "ConnectDone");
  // An address that could not be tried might have answered.
  const fault = reachable ? undefined : faults[0]?.fault;
  return { seq, at, target: target.text, actions, reachable, ...(fault !== undefined && { fault }) };
}

interface ReachOptions {
  readonly allowed: readonly Prefix[];
  readonly connect: Connect;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Whether messages must name the address. */
  readonly oneOfSeveral: boolean;
}

async function connectTo(target: Target, address: Address, options: ReachOptions): Promise<Action | LocalFault> {
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

interface Resolution {
  readonly lookup: Action | LocalFault;
  /** Unique and sorted: name servers rotate their answers. */
  readonly addresses: readonly Address[];
}

/** The maximum of addresses per name. */
const MOST_ADDRESSES = 16;
const MESSAGE_LENGTH = 512;

async function resolve(host: string, lookups: Lookups, timeoutMs: number, signal: AbortSignal): Promise<Resolution> {
  const { task, result, at, latencyMs } = await timed(() => lookups.ask(host), timeoutMs, signal);
  const failed = (why: string): Resolution => ({
    lookup: { outcome: "DNSError", at, latencyMs, message: `Failed to resolve ${host}; ${why}` },
    addresses: [],
  });

  if (result === "late" && !task.began() && !task.isServerSilent()) return { lookup: noThread, addresses: [] };
  if (result === "late") return failed(NO_ANSWER);
  if (result === "stalled") return { lookup: eventLoopStalled, addresses: [] };
  if ("code" in result) {
    const lack = exhausted(result.code);
    return lack
      ? { lookup: resourceExhausted(lack, result.code), addresses: [] }
      : failed(isNoAnswer(result) ? NO_ANSWER : lookupProblem(result.code));
  }
  const found = distinct(result.addresses);
  if (found.length === 0) return failed("no such name");
  const addresses = found.slice(0, MOST_ADDRESSES);
  return { lookup: { outcome: "DNSDone", at, latencyMs, message: resolvedTo(host, addresses, found.length) }, addresses };
}

const noThread: LocalFault = {
  cause: "lookups",
  fault: "Name not resolved: all lookup threads are busy",
};

function lookupProblem(code: string): string {
  if (code === "ENOTFOUND") return "no such name";
  return code === "EAI_AGAIN" || code === "EAI_FAIL" ? "the name server failed" : errnoText(code);
}

function distinct(texts: readonly string[]): Address[] {
  // An address with a zone, for example, cannot be connected to.
  const addresses = texts.map(addressOf).filter((address) => address !== undefined);
  return addresses.toSorted((a, b) => a.compare(b)).filter((address, index, sorted) => index === 0 || !sorted[index - 1]?.equals(address));
}

function resolvedTo(host: string, tried: readonly Address[], found: number): string {
  const texts = tried.map(String);
  const message = (count: number): string => {
    const left = [
      ...(count < tried.length ? [`${tried.length - count} more`] : []),
      ...(tried.length < found ? [`${found - tried.length} not checked`] : []),
    ];
    return `${host} resolved to ${[texts.slice(0, count).join(", "), ...left].join(" and ")}`;
  };
  let count = tried.length;
  while (message(count).length > MESSAGE_LENGTH) count -= 1;
  return message(count);
}

/** Opens and closes a TCP connection. Resolves with the error code, or undefined on success. */
export type Connect = (address: Address, port: number) => Task<string | undefined>;

const tcpConnect: Connect = (address, port) => {
  const host = address.toString();
  let socket: Socket | undefined;
  const result = new Promise<string | undefined>((resolve) => {
    try {
      socket = connect({ host, port, family: address.family, autoSelectFamily: false });
    } catch (error) {
      resolve(errorCode(error));
      return;
    }
    // Nothing is read from the peer.
    socket.pause();
    socket.once("connect", () => {
      const isOwnEnd = socket?.localPort === port && socket.localAddress === host;
      socket?.destroy();
      // If nothing listens on a local port, the kernel may choose that port as the source and connect to itself.
      resolve(isOwnEnd ? "ECONNREFUSED" : undefined);
    });
    // For the lifetime of the socket: a reset may follow the connection.
    socket.on("error", (error) => resolve(errorCode(error)));
  });
  return { result, cancel: () => socket?.destroy() };
};

function errorCode(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "EIO";
}
