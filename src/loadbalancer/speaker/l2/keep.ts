import { ANNOUNCEMENTS, LIFETIME_MS, MOST, type Writable } from "./acquire.ts";
import type { AddressOwnership, OwnedPhase, Steps } from "./address-ownership.ts";

const REFRESH_MS = 5_000;
const ALONG_MS = 1_000;
const ANNOUNCE_EVERY_MS = 1_000;

/** A new owner announces the address several times, a second apart, and checks once whether another machine has it. */
export function announceOwned(ownership: AddressOwnership, phase: OwnedPhase, now: number, steps: Writable<Steps>): void {
  if (!phase.confirmed || phase.announced === ANNOUNCEMENTS || now < phase.announceAt) return;
  steps.announce.push(ownership);
  if (phase.announced === 0) steps.check.push(ownership);
  const announced = phase.announced + 1;
  ownership.phase = { ...phase, announced, announceAt: announced === ANNOUNCEMENTS ? now : now + ANNOUNCE_EVERY_MS };
}

/** The kernel drops an address that is not refreshed within its lifetime. */
export function refreshOwned(ownerships: readonly AddressOwnership[], now: number, steps: Writable<Steps>): void {
  const due = ownerships.flatMap((ownership) =>
    ownership.phase.is === "holding" && ownership.phase.confirmed ? [{ ownership, phase: ownership.phase }] : [],
  );
  if (!due.some(({ phase }) => now - phase.refreshed >= REFRESH_MS)) return;
  // What is due within the next second is included: one process for all of them.
  const along = due.filter(({ phase }) => now - phase.refreshed >= REFRESH_MS - ALONG_MS);
  along.sort((a, b) => a.phase.refreshed - b.phase.refreshed);
  for (const { ownership, phase } of along.slice(0, MOST)) {
    steps.refresh.push({ ...ownership, by: phase.until });
    ownership.phase = { ...phase, refreshed: now, until: now + LIFETIME_MS };
  }
}

/** Checks whether another machine has the address. A rival that has not answered two checks in a row is gone. */
export function checkOwned(ownership: AddressOwnership, now: number, steps: Writable<Steps>): void {
  steps.check.push(ownership);
  if (ownership.phase.is !== "holding") return;
  const { rival, ...phase } = ownership.phase;
  const [last = -Infinity, before = -Infinity] = phase.checks ?? [];
  const isGone = rival !== undefined && rival.heard < before;
  if (isGone) steps.relieved.push(ownership);
  ownership.phase = { ...phase, checks: [now, last], ...(rival && !isGone && { rival }) };
}
