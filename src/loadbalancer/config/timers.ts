import { seconds } from "../../util/duration.ts";
import { quote } from "../../ip/error.ts";
import type { Peer } from "./config.ts";
import type { ConfigProblem } from "./field-error.ts";

const LONGEST = 65_535;

interface Timers {
  readonly complaints: readonly ConfigProblem[];
  readonly timers?: NonNullable<Peer["timers"]>;
}

/** One of the two makes the other: a keepalive is a third of the hold time. */
export function readTimers(name: string, { holdTime, keepaliveTime }: { holdTime?: string; keepaliveTime?: string }): Timers {
  if (holdTime === undefined && keepaliveTime === undefined) return { complaints: [] };
  const problems: ConfigProblem[] = [];
  const say = (field: string, problem: string) =>
    problems.push({ rule: "P5", field: `spec.${field}`, message: `parsing peer ${name} invalid BGPPeer timers: ${problem}` });
  const read = (field: string, text: string | undefined) => {
    const value = seconds(text);
    if (text !== undefined && value === undefined) say(field, `${field} ${quote(text)} is not a duration such as 30s`);
    return value;
  };
  const given = { hold: read("holdTime", holdTime), keepalive: read("keepaliveTime", keepaliveTime) };
  if (problems.length > 0) return { complaints: problems };

  const hold = given.hold ?? (given.keepalive ?? 0) * 3;
  // Old manifests say 0s where they mean none; taken at its word it would let every session die of silence.
  const keepalive = given.keepalive || hold / 3;
  const said = { hold: quote(holdTime ?? `${rounded(hold)}s`), keepalive: quote(keepaliveTime ?? `${rounded(keepalive)}s`) };
  const holdField = holdTime === undefined ? "keepaliveTime" : "holdTime";
  const whole = Math.trunc(hold);
  const impossible = given.keepalive !== undefined && (given.keepalive < 0 || given.keepalive > LONGEST);
  if (hold < 0 || (whole !== 0 && whole < 3)) say(holdField, `invalid hold time ${said.hold}: must be 0 or >=3s`);
  else if (whole > LONGEST) say(holdField, `invalid hold time ${said.hold}: must be <=${LONGEST}s`);
  else if (!impossible && keepalive > hold) {
    say("keepaliveTime", `invalid keepaliveTime ${said.keepalive}, must be lower than holdTime ${said.hold}`);
  }
  if (impossible) say("keepaliveTime", `invalid keepaliveTime ${said.keepalive}: must be 0s to ${LONGEST}s`);
  if (problems.length > 0) return { complaints: problems };
  // Nor is a fraction of a second nothing.
  return { complaints: problems, timers: { hold: whole, keepalive: whole === 0 ? 0 : Math.max(1, Math.trunc(keepalive)) } };
}

function rounded(seconds: number): number {
  return Math.round(seconds * 1000) / 1000;
}
