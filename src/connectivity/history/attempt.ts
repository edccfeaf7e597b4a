import type { ProbeFailure } from "./reasons.ts";

export type { ProbeFailure };

export const INTERVAL_MS = 60_000;

/** In the terms of the check's log. */
export type ActionOutcome = LookupOutcome | ProbeOutcome;
type LookupOutcome = "DNSDone" | "DNSError";
type ProbeOutcome = "ConnectDone" | "HTTPDone" | ProbeFailure;

/** A lookup of the target's name, or a connection or request to one of its addresses. */
export interface Action {
  readonly outcome: ActionOutcome;
  /** Wall clock, in milliseconds. */
  readonly at: number;
  /** Monotonic. */
  readonly latencyMs: number;
  readonly message: string;
}

export interface Attempt {
  /** Increments per check, so that the order does not depend on the clock. */
  readonly seq: number;
  readonly at: number;
  readonly target: string;
  /** In the order of their start. */
  readonly actions: readonly Action[];
  /** One address that answers is enough. */
  readonly reachable: boolean;
  /** The interval of the source, if longer than the default. */
  readonly everyMs?: number;
  /** The attempt says nothing about the target: a local fault. */
  readonly fault?: string;
  /** The fault is a path that does not exist on this node, and not that the source could not check. */
  readonly isNotObserved?: true;
}

/** The message of a lookup without an answer. */
export const NO_ANSWER = "the name server did not answer in time";
