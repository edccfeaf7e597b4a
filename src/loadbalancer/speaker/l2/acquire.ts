import { LIFETIME_S } from "./ip-address-commands.ts";
import type { ProbingPhase, AddressOnInterface, Steps, AddressOwnership } from "./address-ownership.ts";

export const PROBES = 3;
const PROBE_EVERY_MS = 300;
/** How long to listen after the first probe. */
export const LISTEN_MS = 1_000;
/** Older probe results do not count. */
export const FRESH_MS = 1_000;
export const ANNOUNCEMENTS = 3;
/** The interval while it waits for its rules or its turn. */
const MEANWHILE_MS = 100;
/** A second less than the kernel gives. */
export const LIFETIME_MS = (LIFETIME_S - 1) * 1_000;
/** The limit of changes per tick: what fits into the pipe at once is sent whatever happens to this process. */
export const MOST = 500;

export type Writable<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer E)[] ? E[] : T[K] };

/** An address is first acquired on all interfaces or none; interfaces that come later are acquired by themselves. */
export function isDecided(ownerships: readonly AddressOwnership[]): boolean {
  return (
    ownerships.some(({ phase }) => phase.is === "holding") ||
    ownerships.every(({ phase }) => phase.is === "silent" || phase.is === "failed")
  );
}

/** Three probes, then a while to listen. */
export function sendProbe(ownership: AddressOwnership, phase: ProbingPhase, now: number, steps: Writable<Steps>): void {
  if (now < phase.from + phase.sent * PROBE_EVERY_MS) return;
  if (phase.sent < PROBES) {
    steps.probe.push(ownership);
    ownership.phase = { ...phase, sent: phase.sent + 1 };
  } else if (now >= phase.from + LISTEN_MS) {
    steps.listened.push(ownership);
    ownership.phase = { ...phase, is: "listening" };
  }
}

/** Addresses without a duplicate are acquired, with the filter rules in place. */
export function acquire(
  ownerships: readonly AddressOwnership[],
  now: number,
  isFiltered: (addressOnNic: AddressOnInterface) => boolean,
  steps: Writable<Steps>,
): void {
  const silent = ownerships.flatMap((ownership) => (ownership.phase.is === "silent" ? [{ ownership, found: ownership.phase.found }] : []));
  // All of them again, together: one by one they might never be silent at the same time.
  if (silent.some(({ found }) => now - found > FRESH_MS)) {
    for (const { ownership } of silent) ownership.phase = { is: "probing", from: now, sent: 0 };
    return;
  }
  for (const { ownership } of silent) {
    if (steps.add.length === MOST || !isFiltered(ownership)) continue;
    steps.add.push({ ...ownership, by: now + FRESH_MS });
    ownership.phase = {
      is: "holding",
      since: new Date(),
      confirmed: false,
      refreshed: now,
      until: now + LIFETIME_MS,
      announced: 0,
      announceAt: now,
    };
  }
}

/** When the next step of an ownership is due. */
export function dueOf(phase: AddressOwnership["phase"], now: number): number {
  if (phase.is === "probing") return phase.from + (phase.sent < PROBES ? phase.sent * PROBE_EVERY_MS : LISTEN_MS);
  if (phase.is === "in-use" || phase.is === "failed") return phase.again;
  if (phase.is === "silent") return now + MEANWHILE_MS;
  return phase.is === "holding" && phase.confirmed && phase.announced < ANNOUNCEMENTS ? phase.announceAt : Infinity;
}
