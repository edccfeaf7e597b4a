import { metaTime } from "../../api/time.ts";
import { truncateWithSuffix } from "../../util/text.ts";
import { durationText } from "./duration.ts";
import { CAPS, type LogLine, isSuccess, type Outage } from "./history.ts";

/** After so many intervals without an attempt the source was not running. */
const UNTRIED_INTERVALS = 3;
const UNTRIED = "; not tried from ";
const UNTRIED_CAP = 3;

export interface AttemptSummary {
  readonly reachable: boolean;
  readonly start: number;
  readonly moment: number;
  readonly everyMs: number;
  readonly entries: readonly LogLine[];
  /** The last success of the same target before it. */
  readonly lastSuccess: number | undefined;
  /** Set for the first attempt after a change of the target. */
  readonly newTarget: string | undefined;
}

/** A failed attempt opens an outage, a successful one closes it. */
export function updateOutages(outages: readonly Outage[], finding: AttemptSummary): readonly Outage[] {
  const open = openOutage(outages);
  if (!open) return finding.reachable ? outages : [opened(finding), ...outages].slice(0, CAPS.outages);
  const older = outages.slice(1);
  if (finding.newTarget !== undefined) {
    const left = ended(tried(open, finding), finding.start, [], `; the target was changed to ${finding.newTarget}`);
    return finding.reachable ? [left, ...older] : [opened(finding), left, ...older].slice(0, CAPS.outages);
  }
  const then = tried(open, finding);
  return [finding.reachable ? restored(then, finding) : ongoing(then, finding), ...older];
}

export function openOutage([newest]: readonly Outage[]): Outage | undefined {
  return newest && newest.end === undefined ? newest : undefined;
}

function opened(finding: AttemptSummary): Outage {
  const { moment, lastSuccess } = finding;
  const message = `Connectivity outage detected at ${metaTime(new Date(moment))}`;
  const nothing = { start: moment, startLogs: [], endLogs: [], message };
  return ongoing(lastSuccess === undefined ? nothing : { ...nothing, startedAfter: lastSuccess }, finding);
}

function ongoing(outage: Outage, { entries, moment }: AttemptSummary): Outage {
  const failures = entries.filter((entry) => !isSuccess(entry));
  const startLogs = [...outage.startLogs];
  const ways = new Set(startLogs.map(wayToFail));
  for (const failure of failures) {
    if (startLogs.length === CAPS.outageLogs) break;
    const way = wayToFail(failure);
    if (ways.has(way)) continue;
    ways.add(way);
    startLogs.unshift(failure);
  }
  const endLogs = [...failures.toReversed(), ...outage.endLogs].slice(0, CAPS.outageLogs);
  return { ...outage, endedAfter: failures.at(-1)?.at ?? moment, startLogs, endLogs };
}

function restored(outage: Outage, { entries, moment }: AttemptSummary): Outage {
  const success = entries.find(({ outcome }) => outcome === "ConnectDone");
  return ended(outage, moment, success ? [success] : [], "");
}

function ended(outage: Outage, at: number, last: readonly LogLine[], why: string): Outage {
  const end = Math.max(at, outage.start);
  const lasted = durationText(end - outage.start);
  const text = why === "" ? `Connectivity restored after ${lasted}` : `Connectivity outage ended after ${lasted}${why}`;
  const untried = outage.message.indexOf(UNTRIED);
  const message = truncateWithSuffix(text, CAPS.message, untried < 0 ? "" : outage.message.slice(untried));
  return { ...outage, end, endLogs: [...last, ...outage.endLogs].slice(0, CAPS.outageLogs), message };
}

function tried(outage: Outage, { start: at, everyMs }: AttemptSummary): Outage {
  const { start, endedAfter, endLogs, message } = outage;
  const last = endedAfter ?? endLogs[0]?.at ?? start;
  if (at - last <= UNTRIED_INTERVALS * everyMs || message.split(UNTRIED).length > UNTRIED_CAP) return outage;
  return { ...outage, message: `${message}${UNTRIED}${metaTime(new Date(last))} to ${metaTime(new Date(at))}` };
}

/** The error without the address: `ConnectError No route to host`. */
function wayToFail({ outcome, message }: LogLine): string {
  const reason = message.indexOf("; ");
  return `${outcome} ${message.slice(reason < 0 ? 0 : reason + 2).replaceAll(/ \([^)]*\)/g, "")}`;
}
