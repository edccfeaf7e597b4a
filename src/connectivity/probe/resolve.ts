import { type Address, addressOf } from "../../ip/address.ts";
import { type Action, NO_ANSWER } from "../history/attempt.ts";
import { errnoText, eventLoopStalled, exhausted, type LocalFault, resourceExhausted } from "./errno.ts";
import { isNoAnswer, type Lookups } from "./lookups.ts";
import { timed } from "./timed.ts";

export interface Resolution {
  readonly lookup: Action | LocalFault;
  /** Unique and sorted: name servers rotate their answers. */
  readonly addresses: readonly Address[];
}

/** The maximum of addresses per name. */
const MOST_ADDRESSES = 16;
const MESSAGE_LENGTH = 512;

export async function resolve(host: string, lookups: Lookups, timeoutMs: number, signal: AbortSignal): Promise<Resolution> {
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
