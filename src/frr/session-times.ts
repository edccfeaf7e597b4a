import { metaTime } from "../api/time.ts";

export interface RunningSession {
  readonly vrf: string;
  readonly neighbor: string;
  readonly state: string;
  readonly sinceMs?: number;
}

/** With the start time of its state, which does not drift. */
export type DatedSession<S extends RunningSession = RunningSession> = Omit<S, "sinceMs"> & { readonly since?: string };

/** FRR reports a duration; the start time computed from it must not drift. */
export function withSessionTimes<S extends RunningSession>(
  sessions: readonly S[],
  before: readonly DatedSession[] | undefined,
  now: Date,
): DatedSession<S>[] {
  const known = new Map(before?.map((session) => [sessionKey(session), session]));
  return sessions.map((reported) => datedOne(reported, known.get(sessionKey(reported)), now));
}

function datedOne<S extends RunningSession>(reported: S, known: DatedSession | undefined, now: Date): DatedSession<S> {
  const { sinceMs, ...rest } = reported;
  const session = { ...rest, state: steady(known?.state, reported.state) };
  const goesOn = known?.state === session.state && !hasRestarted(known, sinceMs, now);
  if (goesOn) return known.since === undefined ? session : { ...session, since: known.since };
  // Without a duration from FRR, a state that has just changed starts now.
  if (sinceMs === undefined && !known) return session;
  return { ...session, since: metaTime(new Date(now.getTime() - ageOf(sinceMs))) };
}

/** Values before 1970 do not count. */
function ageOf(sinceMs = 0): number {
  return sinceMs >= 0 && sinceMs < Date.now() ? sinceMs : 0;
}

/** Down and up again between two polls: younger than known by more than the clocks' precision. */
function hasRestarted({ state, since }: DatedSession, sinceMs: number | undefined, now: Date): boolean {
  if (state !== "Established" || since === undefined || sinceMs === undefined) return false;
  return now.getTime() - sinceMs > Date.parse(since) + 3_000;
}

const TRYING = new Set(["Idle", "Connect", "Active", "OpenSent", "OpenConfirm"]);

/** A session that does not come up cycles through these. They count as one state, with the first name. */
function steady(known: string | undefined, reported: string): string {
  return known !== undefined && TRYING.has(known) && TRYING.has(reported) ? known : reported;
}

export function sessionKey({ vrf, neighbor }: { readonly vrf: string; readonly neighbor: string }): string {
  return `${vrf} ${neighbor}`;
}
