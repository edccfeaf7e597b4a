/** For tests: attempts of a check that is tried once a second, numbered by that second. */

import type { LogEntry } from "../../api/connectivity/pod-network-connectivity-check.ts";
import type { Action, Attempt } from "../history/attempt.ts";
import { emptyHistory, type CheckHistory } from "../history/history.ts";
import { reduce } from "../history/reduce.ts";

const TARGET = "10.0.134.23:2379";
const NAMED = "etcd.svc:2379";

type Overrides = Partial<Attempt>;

export function at(second: number): string {
  return new Date(second * 1000).toISOString().replace(".000Z", "Z");
}

export function action(outcome: Action["outcome"], second: number, message: string): Action {
  return { outcome, at: second * 1000, latencyMs: 2.845865, message };
}

/** An attempt that connects to an address. */
export function ok(second: number, overrides: Overrides = {}): Attempt {
  return attempt(second, true, [action("ConnectDone", second, `Connected to ${TARGET}`)], overrides);
}

/** An attempt that does not. */
export function failed(second: number, why = "No route to host", overrides: Overrides = {}): Attempt {
  return attempt(second, false, [action("ConnectError", second, `Failed connect to ${TARGET}; ${why}`)], overrides);
}

/** The name is found, and a second later it is connected to. */
export function namedOk(second: number, overrides: Overrides = {}): Attempt {
  const actions = [
    action("DNSDone", second, "etcd.svc resolved to 10.0.140.67"),
    action("ConnectDone", second + 1, `Connection to ${NAMED} established.`),
  ];
  return attempt(second, true, actions, { target: NAMED, ...overrides });
}

/** The name is found, and a second later nothing is there. */
export function namedFailed(second: number, overrides: Overrides = {}): Attempt {
  const actions = [
    action("DNSDone", second, "etcd.svc resolved to 10.0.140.67"),
    action("ConnectError", second + 1, `Failed connect to ${NAMED}; Connection refused`),
  ];
  return attempt(second, false, actions, { target: NAMED, ...overrides });
}

export function attemptToAddress(second: number, overrides: Overrides = {}): Attempt {
  const actions = [action("DNSError", second, "Failed to resolve etcd.svc; no such name")];
  return attempt(second, false, actions, { target: NAMED, ...overrides });
}

function attempt(second: number, reachable: boolean, actions: readonly Action[], overrides: Overrides): Attempt {
  return { seq: second + 1, at: second * 1000, target: TARGET, actions, reachable, ...overrides };
}

export function attemptAfter(attempts: readonly Attempt[], before: CheckHistory = emptyHistory(0)): CheckHistory {
  return attempts.reduce(reduce, before);
}

/** `C1` and `D1` are a connection and a lookup that succeed in second 1, `c1` and `d1` ones that fail. */
export function short({ time, success, reason = "" }: LogEntry): string {
  const letter = reason.startsWith("DNS") ? "d" : "c";
  return `${success ? letter.toUpperCase() : letter}${Date.parse(time ?? "") / 1000}`;
}
