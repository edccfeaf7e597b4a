import { seconds } from "../../util/duration.ts";
import { quote } from "../../ip/error.ts";
import type { Peer } from "./config.ts";
import type { ConfigProblem } from "./field-error.ts";

const LONGEST = 65_535;

interface Timers {
  readonly problems: readonly ConfigProblem[];
  readonly timers?: NonNullable<Peer["timers"]>;
}

/** If only one is set: the keepalive time is a third of the hold time. */
export function readTimers(name: string, { holdTime, keepaliveTime }: { holdTime?: string; keepaliveTime?: string }): Timers {
  if (holdTime === undefined && keepaliveTime === undefined) return { problems: [] };
  const problems: ConfigProblem[] = [];
  const addProblem = (field: string, problem: string) =>
    problems.push({ rule: "P5", field: `spec.${field}`, message: `parsing peer ${name} invalid BGPPeer timers: ${problem}` });
  const read = (field: string, text: string | undefined) => {
    const value = seconds(text);
    if (text !== undefined && value === undefined) addProblem(field, `${field} ${quote(text)} is not a duration such as 30s`);
    return value;
  };
  const given = { hold: read("holdTime", holdTime), keepalive: read("keepaliveTime", keepaliveTime) };
  if (problems.length > 0) return { problems };

  const hold = given.hold ?? (given.keepalive ?? 0) * 3;
  // Old manifests set 0s for none; literally it would let every session time out.
  const keepalive = given.keepalive || hold / 3;
  const texts = { hold: quote(holdTime ?? `${rounded(hold)}s`), keepalive: quote(keepaliveTime ?? `${rounded(keepalive)}s`) };
  const holdField = holdTime === undefined ? "keepaliveTime" : "holdTime";
  const whole = Math.trunc(hold);
  const impossible = given.keepalive !== undefined && (given.keepalive < 0 || given.keepalive > LONGEST);
  if (hold < 0 || (whole !== 0 && whole < 3)) addProblem(holdField, `invalid hold time ${texts.hold}: must be 0 or >=3s`);
  else if (whole > LONGEST) addProblem(holdField, `invalid hold time ${texts.hold}: must be <=${LONGEST}s`);
  else if (!impossible && keepalive > hold) {
    addProblem("keepaliveTime", `invalid keepaliveTime ${texts.keepalive}, must be lower than holdTime ${texts.hold}`);
  }
  if (impossible) addProblem("keepaliveTime", `invalid keepaliveTime ${texts.keepalive}: must be 0s to ${LONGEST}s`);
  if (problems.length > 0) return { problems };
  // A fraction of a second becomes 1.
  return { problems, timers: { hold: whole, keepalive: whole === 0 ? 0 : Math.max(1, Math.trunc(keepalive)) } };
}

function rounded(seconds: number): number {
  return Math.round(seconds * 1000) / 1000;
}
