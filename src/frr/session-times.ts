import { metaTime } from "../api/time.ts";

/** A session as FRR has it at one moment, with its clock running. */
export interface RunningSession {
  readonly vrf: string;
  readonly neighbor: string;
  readonly state: string;
  readonly sinceMs?: number;
}

/** The same with the time at which its state began, which does not drift. */
export type DatedSession<S extends RunningSession = RunningSession> = Omit<S, "sinceMs"> & { readonly since?: string };

/** FRR's clock of a session runs on by itself; the moment it began must not wander. */
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
  // Where FRR does not say since when, it is since now, if it changed before our eyes.
  if (sinceMs === undefined && !known) return session;
  return { ...session, since: metaTime(new Date(now.getTime() - ageOf(sinceMs))) };
}

/** What is older than the calendar has no age that counts. */
function ageOf(sinceMs = 0): number {
  return sinceMs >= 0 && sinceMs < Date.now() ? sinceMs : 0;
}

/** Down and up again between two looks: younger than what we knew by more than the clocks' grain. */
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
