import { type Change, changeText } from "./change.ts";

/** A change that may do silent harm, and why that is accepted. */
interface KnownLimit {
  /** In the text of the change. */
  readonly matches: RegExp;
  readonly reason: string;
}

export const KNOWN_LIMITS: readonly KnownLimit[] = [];

export function knownLimit(change: Change): string | undefined {
  return KNOWN_LIMITS.find(({ matches }) => matches.test(changeText(change)))?.reason;
}
