/** How often a check is tried where nobody asks for something else. */
export const INTERVAL_MS = 60_000;

/** What one action of an attempt came to, in the words of the check's log. */
export type ActionOutcome = "DNSDone" | "DNSError" | "ConnectDone" | "ConnectError";

/** A lookup of the target's name, or a connection to one of its addresses. */
export interface Action {
  readonly outcome: ActionOutcome;
  /** When it began, in milliseconds of the clock on the wall. */
  readonly at: number;
  /** How long it took, by a clock that nobody sets. */
  readonly latencyMs: number;
  readonly message: string;
}

/** One try to reach a target. */
export interface Attempt {
  /** Counts up within a check for as long as the source remembers: it decides what came first, whatever the clock says. */
  readonly seq: number;
  readonly at: number;
  readonly target: string;
  /** In the order in which they began. */
  readonly actions: readonly Action[];
  /** One address that answers is enough. */
  readonly reachable: boolean;
  /** How often the source tries, if more seldom than usual. */
  readonly everyMs?: number;
  /** Why this attempt says nothing about the target: the source itself could not try. */
  readonly fault?: string;
}

/** Why a lookup failed, in the message of its action. */
export const NO_ANSWER = "the name server did not answer in time";
